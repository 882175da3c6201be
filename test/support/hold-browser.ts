// Starts a Chromium, says so, and holds it until this process ends: for the test that kills it.

import { startChromium } from '../../src/browser/chromium.ts';

const [executable = '', folder = ''] = process.argv.slice(2);
await startChromium({ executable, folder, headless: true, args: [], env: process.env });
process.stdout.write('started\n');
setInterval(() => {}, 60_000);
