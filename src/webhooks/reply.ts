// Every answer of the webhook gateway, in one table: outcome, status, headers, body.

export type Reply =
  | { kind: 'accepted'; route: string; event: string; deliveryId: string; cronJob?: string }
  | { kind: 'ignored'; event: string }
  | { kind: 'filtered'; route: string; event: string }
  | { kind: 'delivered'; route: string; target: string; deliveryId: string }
  | { kind: 'duplicate'; deliveryId: string }
  | { kind: 'challenge'; challenge: string }
  | { kind: 'bad_request'; reason: string }
  | { kind: 'unauthorized' }
  | { kind: 'loopback_only' }
  | { kind: 'unknown_route' }
  | { kind: 'wrong_method' }
  | { kind: 'timed_out' }
  | { kind: 'too_large' }
  | { kind: 'encoded' }
  | { kind: 'rate_limited'; retryAfterS: number }
  | { kind: 'delivery_failed'; deliveryId: string }
  | { kind: 'job_failed'; deliveryId: string }
  | { kind: 'not_stored'; retryAfterS: number };

export interface HttpReply {
  status: number;
  headers?: Readonly<Record<string, string>>;
  body: string;
}

export function toHttp(reply: Reply): HttpReply {
  switch (reply.kind) {
    case 'accepted': {
      const { route, event, deliveryId: delivery_id, cronJob } = reply;
      return json(200, { status: 'accepted', route, event, delivery_id, cron_job: cronJob });
    }
    case 'ignored':
      return json(200, { status: 'ignored', event: reply.event });
    case 'filtered':
      return json(200, { status: 'ignored', event: reply.event, reason: 'filter', route: reply.route });
    case 'delivered': {
      const { route, target, deliveryId: delivery_id } = reply;
      return json(200, { status: 'delivered', route, target, delivery_id });
    }
    case 'duplicate':
      return json(200, { status: 'duplicate', delivery_id: reply.deliveryId });
    case 'challenge':
      return json(200, { challenge: reply.challenge });
    case 'bad_request':
      return json(400, { error: 'Invalid JSON', reason: reply.reason });
    case 'unauthorized':
      return json(401, { error: 'Invalid signature' });
    case 'loopback_only':
      return json(403, { error: 'Only local clients may use this route' });
    case 'unknown_route':
      return json(404, { error: 'Unknown route' });
    case 'wrong_method':
      return json(405, { error: 'Method not allowed' }, { allow: 'POST' });
    case 'timed_out':
      return json(408, { error: 'Request timeout' });
    case 'too_large':
      return json(413, { error: 'Payload too large' });
    case 'encoded':
      return json(415, { error: 'Content-Encoding is not supported' });
    case 'rate_limited':
      return json(429, { error: 'Rate limit exceeded' }, retryAfter(reply.retryAfterS));
    case 'delivery_failed':
      return json(502, { status: 'error', error: 'Delivery failed', delivery_id: reply.deliveryId });
    case 'job_failed':
      return json(502, { status: 'error', error: 'Job could not be started', delivery_id: reply.deliveryId });
    case 'not_stored':
      return json(503, { error: 'Cannot store the event now' }, retryAfter(reply.retryAfterS));
  }
}

const retryAfter = (seconds: number): Record<string, string> => ({ 'retry-after': String(seconds) });

function json(status: number, body: Record<string, string | undefined>, headers?: Record<string, string>): HttpReply {
  const text = JSON.stringify(body);
  return headers === undefined ? { status, body: text } : { status, headers, body: text };
}
