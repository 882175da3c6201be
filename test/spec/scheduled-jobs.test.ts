// The section "Scheduled jobs" of the contract, with the real program: commands, a gateway, a scripted model server.

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type ModelServer, type SeenRequest, startModelServer } from '../support/model-server.ts';
import { createSvcHome, type Finished, type RunningGateway } from '../support/svc.ts';
import { until } from '../support/until.ts';

const home = createSvcHome();
let model: ModelServer;
let gateway: RunningGateway;

before(async () => {
  model = await startModelServer(scripted);
  home.configure(`model: { base_url: '${model.url}', name: scripted }\ntimezone: Europe/Berlin\n`);
  mkdirSync(join(home.path, 'scripts'));
  writeFileSync(join(home.path, 'scripts', 'check.sh'), 'echo "STATUS: disk 91 %"\n');
  writeFileSync(join(home.path, 'scripts', 'calm.sh'), 'echo "all well"\necho \'{"wake": false}\'\n');
  writeFileSync(join(home.path, 'scripts', 'broken.sh'), 'echo "cannot connect" >&2\nexit 7\n');
  gateway = await home.startGateway();
});
after(async () => {
  await gateway?.end('SIGKILL');
  await model.close();
  await home.remove();
});

function scripted({ body }: SeenRequest) {
  const prompt = String(body.messages.findLast(({ role }) => role === 'user')?.content);
  const last = body.messages.at(-1);
  if (prompt.includes('be silent')) return { text: 'Nothing new.\n[SILENT] as agreed.' };
  if (prompt.includes('be broken')) return { status: 400, body: '{"error":{"message":"no such model"}}' };
  if (prompt.includes('make a job') && last?.role === 'user') {
    const job = { action: 'create', schedule: 'every 6h', prompt: 'Look at the weather', name: 'weather' };
    return { toolCalls: [{ name: 'cronjob', arguments: job }] };
  }
  if (last?.role === 'tool') return { text: `The tool said: ${String(last.content)}` };
  return { text: `Done: ${prompt.slice(-40)}` };
}

async function cron(...args: string[]): Promise<Finished> {
  return home.svc(['cron', ...args]);
}

async function json<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await cron(...args, '--json');
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as T;
}

interface WireSlot {
  state: string;
  reason: string;
  run_id: string | null;
  cause: string;
}

const lastSlot = async (job: string): Promise<WireSlot | undefined> => (await json<WireSlot[]>('runs', job))[0];
const ended = (job: string): Promise<WireSlot> =>
  until(async () => {
    const slot = await lastSlot(job);
    return slot !== undefined && !['waiting', 'scripting', 'running'].includes(slot.state) && slot;
  });
const delivered = (name: string): string[] => {
  const folder = join(home.path, 'deliveries', name);
  return readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
};
const soon = (): string => new Date(Math.ceil(Date.now() / 1000) * 1000 + 2000).toISOString().replace('.000', '');

test('create takes the options of the contract and shows the next three times', async () => {
  const { code, stdout } = await cron(
    'create',
    '0 9 * * 1-5',
    'Write the report',
    '--name',
    'report',
    '--deliver',
    'log',
    '--skills',
    '',
    '--script',
    'check.sh',
  );
  assert.equal(code, 0);
  assert.match(
    stdout,
    /^Made "report" \(job_[0-9a-z]+\)\.\n( {2}next {2}20\d\d-\d\d-\d\d 09:00 UTC\+[12] \(in .*\)\n){3}$/,
  );
  const job = await json<Record<string, unknown>>('show', 'report');
  assert.deepEqual(
    [job.schedule, job.tz, job.deliver, job.overlap, job.enabled],
    ['0 9 * * 1-5', 'Europe/Berlin', 'log', 'skip', true],
  );
  assert.equal((await cron('remove', 'report')).code, 0);
});

test('the gateway fires a job at its time and delivers the answer into the local folder', async () => {
  await json('create', soon(), 'Remind me of the cake', '--name', 'cake');
  const slot = await ended('cake');
  assert.deepEqual([slot.state, slot.cause], ['ran', 'schedule']);
  assert.deepEqual(delivered('cake'), ['Done: Remind me of the cake\n']);
  const why = await cron('why', 'cake');
  assert.match(why.stdout, /Started on time\. The answer was delivered\.[\s\S]*Nothing more is due/);
});

test('what the script printed stands in a fence in front of the prompt', async () => {
  await json('create', soon(), 'Judge the status line', '--name', 'watch', '--script', 'check.sh');
  assert.equal((await ended('watch')).state, 'ran');
  const asked = model.requests
    .map(({ body }) => String(body.messages.at(-1)?.content))
    .find((text) => text.includes('Judge the status'));
  assert.match(
    asked ?? '',
    /^<untrusted \S+>\nSTATUS: disk 91 %\n+<\/untrusted \S+>\n[\s\S]*\n\nJudge the status line$/,
  );
});

test('a script whose last line is {"wake": false} starts no run', async () => {
  await json('create', '@yearly', 'Never asked', '--name', 'calm', '--script', 'calm.sh');
  await json('run', 'calm', '--wait');
  assert.equal((await ended('calm')).state, 'gated');
  assert.ok(model.requests.every(({ body }) => !JSON.stringify(body).includes('Never asked')));
});

test('[SILENT] anywhere in the answer keeps it back, and the run keeps it', async () => {
  await json('create', '@yearly', 'Please be silent', '--name', 'quiet');
  const { run } = await json<{ run: { state: string; answer: string } }>('run', 'quiet', '--wait');
  assert.deepEqual(run, { ...run, state: 'silent', answer: 'Nothing new.\n[SILENT] as agreed.' });
  assert.throws(() => delivered('quiet'));
  assert.match((await ended('quiet')).reason, /\[SILENT\]/);
});

test('a run that failed is reported to the target of its job, and so is a script', async () => {
  await json('create', '@yearly', 'Please be broken', '--name', 'broken', '--retries', '0');
  const run = await cron('run', 'broken', '--wait');
  assert.equal(run.code, 1);
  assert.match(run.stderr, /failed: Started by hand\. The run failed: /);
  assert.match((await until(() => delivered('broken')[0])) ?? '', /The run failed: .*no such model/s);
  await json('create', '@yearly', 'x', '--name', 'script', '--script', 'broken.sh');
  assert.equal((await cron('run', 'script', '--wait')).code, 1);
  assert.match(
    (await until(() => delivered('script')[0])) ?? '',
    /its script failed\. It ended with exit code 7\. It said: cannot connect/,
  );
});

test('a job whose skill was removed fails with that reason', async () => {
  const skill = join(home.path, 'skills', 'tidy');
  mkdirSync(skill, { recursive: true });
  writeFileSync(join(skill, 'SKILL.md'), '---\nname: tidy\ndescription: Tidies up.\n---\nTidy.\n');
  await json('create', '@yearly', 'Tidy up', '--name', 'tidy', '--skills', 'tidy', '--retries', '0');
  rmSync(skill, { recursive: true });
  assert.equal((await cron('run', 'tidy', '--wait')).code, 1);
  assert.match((await cron('why', 'tidy')).stdout, /The skill tidy of this job is missing/);
});

test('pause, resume, edit and remove do what they say', async () => {
  const made = await json<{ id: string; next_run_at: string }>(
    'create',
    'every 2h',
    'Again',
    '--name',
    'again',
    '--expect-every',
    '26h',
  );
  assert.match((await cron('pause', 'again', '--reason', 'on holiday')).stdout, /It is paused: on holiday/);
  assert.match((await cron('list')).stdout, /again +every 2h +paused/);
  assert.match((await cron('resume', made.id)).stdout, /next {2}/);
  const edited = await json<Record<string, unknown>>(
    'edit',
    'again',
    '--schedule',
    '30 2 * * *',
    '--expect-every',
    'none',
  );
  assert.deepEqual([edited.schedule, edited.expect_every, edited.id], ['30 2 * * *', null, made.id]);
  assert.match((await cron('remove', 'AGAIN')).stdout, /Removed "again"/);
  const gone = await cron('show', 'again');
  assert.deepEqual([gone.code, gone.stderr.split('\n')[0]], [1, 'svc: There is no job "again".']);
});

test('next previews a schedule, also over a clock change; simulate plays the days', async () => {
  const preview = await json<{ due_at: string; note: string | null }[]>(
    'next',
    '30 2 29 3 *',
    '--tz',
    'Europe/Berlin',
    '-n',
    '30',
  );
  assert.ok(preview.some(({ note }) => note?.includes('did not exist in Europe/Berlin')));
  await json('create', '0 * * * *', 'Hourly', '--name', 'hourly');
  const simulation = await json<{
    jobs: { name: string; due: number; skipped: number }[];
    runs_per_hour_of_day: number[];
  }>('simulate', 'hourly', '--days', '2', '--run-time', '90m');
  assert.deepEqual(
    simulation.jobs.map(({ name, due, skipped }) => [name, due, skipped]),
    [['hourly', 48, 24]],
  );
  assert.match((await cron('simulate', '--days', '1')).stdout, /Runs by hour of the day:/);
});

test('the agent makes jobs with its tool; they answer into the chat and have no more tools than the chat', async () => {
  const asked = await home.svc(['ask', '--json', 'Please make a job']);
  assert.equal(asked.code, 0, asked.stderr);
  const { session, answer } = JSON.parse(asked.stdout) as { session: string; answer: string };
  assert.match(answer, /"success":true/);
  const job = await json<Record<string, unknown>>('show', 'weather');
  assert.deepEqual([job.made_by, job.deliver, job.origin], ['agent', 'origin', `chat:${session}`]);
  const granted = model.requests.find(({ body }) => JSON.stringify(body.messages).includes('Please make a job'))?.body
    .tools;
  const allowed = (await cron('show', 'weather')).stdout.match(/allowed tools +(.*)/)?.[1]?.split(', ') ?? [];
  assert.deepEqual(new Set(allowed), new Set(granted?.map((tool) => tool.function.name)));
  await json('run', 'weather', '--wait');
  const request = model.requests.findLast(({ body }) => JSON.stringify(body.messages).includes('Look at the weather'));
  const given = request?.body.tools?.map((tool) => tool.function.name) ?? [];
  assert.ok(
    given.every((name) => allowed.includes(name)),
    given.join(),
  );
  assert.ok(!given.includes('cronjob'), 'svc-cron holds no cronjob: jobs do not make jobs');
  const shown = await home.svc(['sessions', 'show', session]);
  assert.match(shown.stdout, /Done: Look at the weather/);
});

test('refusals say what to write instead, with exit code 1, or 2 for the command line itself', async () => {
  const refusals: [string[], number, RegExp][] = [
    [['create', 'every 0m', 'x'], 1, /no time at all[\s\S]*every 15m/],
    [['create', '0 0 * * * *', 'x'], 1, /this has 6[\s\S]*0 9 \* \* 1-5/],
    [['create', '0 0 31 2 *', 'x'], 1, /never fires/],
    [['create', '2020-01-01T00:00', 'x'], 1, /in the past/],
    [['create', '@daily', 'x', '--tz', 'Europe/Berlni'], 1, /Did you mean Europe\/Berlin/],
    [['create', '@daily', 'x', '--deliver', 'telegram:everyone'], 1, /delivered to telegram:everyone/],
    [['create', '@daily', 'x', '--deliver', 'nowhere'], 1, /nowhere/],
    [['create', '@daily', 'x', '--script', 'no.sh'], 1, /no script no\.sh/],
    [['create', '@daily', 'x', '--skills', 'nope'], 1, /no skill nope/],
    [['create', '@daily', 'x', '--grace', 'soon'], 1, /--grace 30m/],
    [['create', '@daily'], 2, /missing required argument/],
    [['runs', 'hourly', '--limit', '0'], 2, /from 1 to/],
    [['why', 'hourly', 'yesterday'], 2, /is not a time/],
  ];
  for (const [args, code, message] of refusals) {
    const result = await cron(...args);
    assert.deepEqual([args, result.code], [args, code]);
    assert.match(result.stderr, message);
  }
});

test('without a gateway a job runs in the command itself', async () => {
  await gateway.end('SIGTERM');
  await json('create', '@yearly', 'Run me here', '--name', 'here', '--script', 'check.sh');
  const { code, stdout, stderr } = await cron('run', 'here');
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^Done: [\s\S]*\n\nRun me here\n$/);
  assert.match(stderr, /No gateway is running, so it runs here\.\nran: Started by hand\. The answer was delivered\./);
  assert.equal(delivered('here').length, 1);
});

test('a webhook route with cron_job starts the job, with the event in a fence, by the same rules', async () => {
  home.configure(
    `model: { base_url: '${model.url}', name: scripted }
platforms:
  webhook:
    enabled: true
    extra:
      host: 127.0.0.1
      routes: { deploy: { secret: INSECURE_NO_AUTH, cron_job: deployed, prompt: 'Version {version} is out.' } }
`,
  );
  const server = await home.startGateway();
  try {
    await json('create', '@yearly', 'Check the new version', '--name', 'deployed');
    const post = (id: string) =>
      fetch(`${server.url}/webhooks/deploy`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-request-id': id },
        body: '{"version": "7 <b>"}',
      });
    const accepted = await post('one');
    assert.equal(accepted.status, 200);
    assert.deepEqual(await accepted.json(), {
      status: 'accepted',
      route: 'deploy',
      event: 'unknown',
      delivery_id: 'one',
      cron_job: 'deployed',
    });
    assert.equal(((await (await post('one')).json()) as { status: string }).status, 'duplicate');
    const slot = await ended('deployed');
    assert.deepEqual([slot.state, slot.cause], ['ran', 'webhook']);
    assert.equal((await json<WireSlot[]>('runs', 'deployed')).length, 1);
    const asked = model.requests
      .map(({ body }) => String(body.messages.at(-1)?.content))
      .find((text) => text.includes('Check the new version'));
    assert.match(
      asked ?? '',
      /^<untrusted \S+>\nVersion 7 <b> is out\.\n<\/untrusted \S+>\n[\s\S]*\n\nCheck the new version$/,
    );
  } finally {
    await server.end('SIGKILL');
  }
});
