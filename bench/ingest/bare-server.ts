// The baseline: a node:http server that verifies the HMAC, parses the JSON, and keeps nothing.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const [secret = ''] = process.argv.slice(2);

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    const claim = Buffer.from(String(request.headers['x-hub-signature-256']).slice('sha256='.length), 'hex');
    const digest = createHmac('sha256', secret).update(body).digest();
    const genuine = claim.length === digest.length && timingSafeEqual(claim, digest);
    if (genuine) JSON.parse(body.toString('utf8'));
    const text = JSON.stringify({ status: genuine ? 'accepted' : 'refused' });
    response.writeHead(genuine ? 200 : 401, { 'content-type': 'application/json', 'content-length': text.length });
    response.end(text);
  });
});
server.listen(0, '127.0.0.1', () =>
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
);
