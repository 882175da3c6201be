import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adder } from '../../test/support/adder.ts';
import type { Step, ToolCall } from '../core/step.ts';
import { type AgentEvent, type AgentTask, runAgent } from './agent.ts';
import type { Model, ModelReply, ModelRequest } from './model.ts';
import { defineTool, type Tool } from './tool.ts';

const NO_USAGE = { inputTokens: 0, outputTokens: 0 };
const says = (text: string): ModelReply => ({
  kind: 'message',
  text,
  toolCalls: [],
  usage: { inputTokens: 10, outputTokens: 5 },
});
const calls = (...toolCalls: ToolCall[]): ModelReply => ({
  kind: 'message',
  text: '',
  toolCalls,
  usage: { inputTokens: 10, outputTokens: 5 },
});
const add = (id: string, a: unknown, b: unknown): ToolCall => ({ id, name: 'add', arguments: { a, b } });

function scripted(replies: readonly ModelReply[], contextLength?: number): Model & { requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    label: 'scripted',
    contextLength,
    requests,
    complete: async (request) => {
      requests.push({ ...request, messages: structuredClone(request.messages) as never });
      return replies[Math.min(requests.length, replies.length) - 1] ?? says('');
    },
  };
}

interface Trial {
  replies?: readonly ModelReply[];
  model?: Model;
  tools?: readonly Tool[];
  recorded?: readonly Step[];
  limits?: AgentTask['limits'];
  signal?: AbortSignal;
  prompt?: string;
}

function trial(options: Trial) {
  const steps: Step[] = [];
  const events: AgentEvent[] = [];
  const task: AgentTask = {
    context: { taskId: 't', trust: 'person', grantedTools: [], signal: options.signal ?? new AbortController().signal },
    system: 'Be brief.',
    messages: [{ role: 'user', content: options.prompt ?? 'What is 1 + 2?' }],
    tools: options.tools ?? [adder],
    model: options.model ?? scripted(options.replies ?? []),
    limits: options.limits ?? { maxSteps: 20 },
    recorded: options.recorded ?? [],
    record: async (step) => {
      steps.push(step);
    },
    onEvent: (event) => events.push(event),
  };
  return { task, steps, events };
}

test('a tool is called, its start and result are stored in order, and the text without a call is the answer', async () => {
  const { task, steps } = trial({ replies: [calls(add('c1', 1, 2)), says('It is 3.')] });
  const result = await runAgent(task);
  assert.deepEqual(result, { kind: 'answer', text: 'It is 3.', usage: { inputTokens: 20, outputTokens: 10 } });
  assert.deepEqual(
    steps.map((step) => step.kind),
    ['model', 'tool_started', 'tool_result', 'model'],
  );
  assert.deepEqual(steps[2], { kind: 'tool_result', callId: 'c1', output: '3', failed: false });
});

test('a step is durable before the next begins', async () => {
  const order: string[] = [];
  const slow = defineTool({ ...adder, run: async () => ({ output: String(order.push('run')) }) });
  const { task } = trial({ replies: [calls(add('c1', 1, 2)), says('done')], tools: [slow] });
  task.record = async (step) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    order.push(step.kind);
  };
  await runAgent(task);
  assert.deepEqual(order, ['model', 'tool_started', 'run', 'tool_result', 'model']);
});

test('a resumed task asks nothing twice: stored steps are replayed and a stored answer is the answer', async () => {
  const first = trial({ replies: [calls(add('c1', 1, 2)), says('It is 3.')] });
  await runAgent(first.task);
  const model = scripted([says('asked again')]);
  const again = trial({ model, recorded: first.steps });
  assert.equal((await runAgent(again.task)).kind, 'answer');
  assert.equal(model.requests.length, 0);
  assert.deepEqual(again.steps, []);
});

test('after a crash a started call is reported as unknown and not repeated; one without a start mark is carried out', async () => {
  let runs = 0;
  const counting = defineTool({ ...adder, run: async () => ({ output: `ran ${++runs}` }) });
  const recorded: Step[] = [
    { kind: 'model', text: '', toolCalls: [add('c1', 1, 1), add('c2', 2, 2), add('c3', 3, 3)], usage: NO_USAGE },
    { kind: 'tool_started', callId: 'c1' },
    { kind: 'tool_result', callId: 'c1', output: '2', failed: false },
    { kind: 'tool_started', callId: 'c2' },
  ];
  const model = scripted([says('done')]);
  const { task } = trial({ model, tools: [counting], recorded });
  assert.equal((await runAgent(task)).kind, 'answer');
  assert.equal(runs, 1);
  const told = model.requests[0]?.messages
    .filter((message) => message.role === 'tool')
    .map((message) => message.content);
  assert.equal(told?.[0], '2');
  assert.match(told?.[1] ?? '', /^Outcome unknown.*not repeated/);
  assert.equal(told?.[2], 'ran 1');
});

test('calls run side by side when all of them allow it, and one after another otherwise', async () => {
  const most = async (parallel: boolean): Promise<number> => {
    let now = 0;
    let highest = 0;
    const tool = defineTool({
      ...adder,
      parallel,
      run: async () => {
        highest = Math.max(highest, ++now);
        await new Promise((resolve) => setTimeout(resolve, 10));
        now -= 1;
        return { output: 'x' };
      },
    });
    await runAgent(
      trial({ replies: [calls(add('a', 1, 1), add('b', 2, 2), add('c', 3, 3)), says('x')], tools: [tool] }).task,
    );
    return highest;
  };
  assert.equal(await most(true), 3);
  assert.equal(await most(false), 1);
});

test('an unknown tool and arguments that cannot be mended come back to the model as clear errors', async () => {
  const model = scripted([
    calls(
      { id: '1', name: 'subtract', arguments: {} },
      { id: '2', name: 'add', rawArguments: '{"a": what' },
      add('3', 'x', {}),
    ),
    says('sorry'),
  ]);
  const { task, steps } = trial({ model });
  assert.equal((await runAgent(task)).kind, 'answer');
  assert.ok(!steps.some((step) => step.kind === 'tool_started'));
  const told =
    model.requests[1]?.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : [])) ?? [];
  assert.match(told[0] ?? '', /no tool named "subtract".*add/);
  assert.match(told[1] ?? '', /not valid JSON/);
  assert.match(told[2] ?? '', /do not fit add[\s\S]*a: [\s\S]*b: /);
});

test('call ids that a server uses again are made unique', async () => {
  const { task, steps } = trial({ replies: [calls(add('call_0', 1, 1)), calls(add('call_0', 2, 2)), says('x')] });
  await runAgent(task);
  const ids = steps.flatMap((step) => (step.kind === 'model' ? step.toolCalls.map((call) => call.id) : []));
  assert.deepEqual(ids, ['call_0', 'call_0_2']);
});

test('a model that repeats one call is told, and ended when it does not listen', async () => {
  const { task, events } = trial({ replies: [calls(add('c', 1, 2))], limits: { maxSteps: 50 } });
  const result = await runAgent(task);
  assert.equal(result.kind, 'failed');
  assert.match(result.kind === 'failed' ? result.reason : '', /same tool call/);
  const outputs = events.flatMap((event) => (event.kind === 'tool_result' ? [event.output] : []));
  assert.deepEqual(outputs.slice(0, 3), ['3', '3', '3']);
  assert.match(outputs[3] ?? '', /^Refused: this exact call was already made 3 times/);
  assert.equal(outputs.length, 6);
});

test('asking again is no repetition while the answer changes', async () => {
  let n = 0;
  const counter = defineTool({ ...adder, run: async () => ({ output: String(n++) }) });
  const many = Array.from({ length: 10 }, () => calls(add('c', 1, 2)));
  const { task } = trial({ replies: [...many, says('done')], tools: [counter] });
  assert.equal((await runAgent(task)).kind, 'answer');
  assert.equal(n, 10);
});

test('the limits of steps and tokens end a task with a reason that names the setting', async () => {
  let n = 0;
  const model: Model = { label: 'm', contextLength: undefined, complete: async () => calls(add('c', n++, 1)) };
  const steps = await runAgent(trial({ model, limits: { maxSteps: 4 } }).task);
  assert.deepEqual(
    steps.kind === 'failed' && [
      steps.transient,
      /limit of 4 steps/.test(steps.reason),
      steps.help?.includes('agent.max_steps'),
    ],
    [false, true, true],
  );
  const tokens = await runAgent(trial({ model, limits: { maxSteps: 40, maxTokens: 30 } }).task);
  assert.match(tokens.kind === 'failed' ? tokens.reason : '', /limit of 30 tokens/);
});

test('an interruption ends the task at once, even when a tool does not listen, and leaves the outcome open', async () => {
  const stop = new AbortController();
  const deaf = defineTool({ ...adder, run: () => new Promise(() => setImmediate(() => stop.abort())) });
  const { task, steps } = trial({ replies: [calls(add('c1', 1, 2))], tools: [deaf], signal: stop.signal });
  assert.deepEqual(await runAgent(task), { kind: 'interrupted' });
  assert.deepEqual(steps.at(-1), { kind: 'tool_started', callId: 'c1' });
});

test('a tool that throws is a failed result, not a failed task', async () => {
  const broken = defineTool({ ...adder, run: async () => Promise.reject(new Error('no disk')) });
  const { task, steps } = trial({ replies: [calls(add('c1', 1, 2)), says('It broke.')], tools: [broken] });
  assert.equal((await runAgent(task)).kind, 'answer');
  assert.deepEqual(steps[2], { kind: 'tool_result', callId: 'c1', output: 'add failed: no disk', failed: true });
});

test('an empty answer is asked for once more', async () => {
  const { task } = trial({ replies: [says('  '), says('here')] });
  const result = await runAgent(task);
  assert.equal(result.kind === 'answer' && result.text, 'here');
});

test('calls that a model wrote as text are carried out only when the text is nothing else', async () => {
  const written = '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>';
  const whole = trial({ replies: [says(written), says('3')] });
  await runAgent(whole.task);
  assert.ok(whole.steps.some((step) => step.kind === 'tool_started'));
  const quoted = trial({ replies: [says(`The payload says ${written}`)] });
  await runAgent(quoted.task);
  assert.deepEqual(
    quoted.steps.map((step) => step.kind),
    ['model'],
  );
});

test('when the context fills, older messages become a summary; a resumed task sees the same conversation', async () => {
  const long = 'x'.repeat(800);
  const big = defineTool({ ...adder, run: async ({ a }) => ({ output: `${a} ${long}` }) });
  let n = 0;
  const seen: string[] = [];
  const model: Model = {
    label: 'small',
    contextLength: 1000,
    complete: async (request) => {
      if (request.system.includes('You shorten')) return says('SUMMARY: added things');
      seen.push(JSON.stringify(request.messages));
      return n++ < 6 ? calls(add(`c${n}`, n, 0)) : says('done');
    },
  };
  const { task, steps } = trial({ model, tools: [big] });
  assert.equal((await runAgent(task)).kind, 'answer');
  assert.ok(steps.some((step) => step.kind === 'compacted'));
  assert.match(seen.at(-1) ?? '', /What is 1 \+ 2\?.*SUMMARY: added things/);
  assert.ok(seen.every((messages) => messages.length < 4000));

  const again = trial({ model, tools: [big], recorded: steps.slice(0, -1) });
  assert.equal((await runAgent(again.task)).kind, 'answer');
  assert.equal(seen.at(-1), seen.at(-2));
});

test('a request that the server finds too long is shortened and sent once more', async () => {
  let asked = 0;
  const model: Model = {
    label: 'm',
    contextLength: undefined,
    complete: async (request) => {
      if (request.system.includes('You shorten')) return { kind: 'failed', reason: 'busy', transient: true };
      asked += 1;
      if (asked === 4) return { kind: 'failed', reason: 'too long', transient: false, contextFull: true };
      return asked < 4 ? calls(add(`c${asked}`, asked, 0)) : says(`after ${request.messages.length} messages`);
    },
  };
  const { task, steps } = trial({ model });
  const result = await runAgent(task);
  assert.equal(result.kind, 'answer');
  const compacted = steps.find((step) => step.kind === 'compacted');
  assert.match(compacted?.kind === 'compacted' ? compacted.summary : '', /User: What is 1 \+ 2/);
});

test('wherever it dies, a resumed task gives the same answer and carries out no call twice', async () => {
  const answer = async (recorded: readonly Step[], diesAt: number, ran: string[]) => {
    const noting = defineTool({
      ...adder,
      run: async ({ a, b }) => {
        ran.push(`${a}+${b}`);
        return { output: String(a + b) };
      },
    });
    // What the model says depends only on the conversation, as with a real one.
    const model: Model = {
      label: 'm',
      contextLength: undefined,
      complete: async ({ messages }) => {
        const results = messages.filter((message) => message.role === 'tool').length;
        if (results === 0) return calls(add('x', 1, 1), add('x', 2, 2), { id: 'y', name: 'nonsense', arguments: {} });
        return results < 5 ? calls(add('x', results, results)) : says('done');
      },
    };
    const { task } = trial({ model, tools: [noting], recorded });
    const stored = [...recorded];
    task.record = async (step) => {
      if (stored.length === diesAt) throw new Error('killed');
      stored.push(step);
    };
    const result = await runAgent(task).catch(() => undefined);
    return { result, stored };
  };
  const whole = await answer([], Number.POSITIVE_INFINITY, []);
  assert.equal(whole.result?.kind, 'answer');
  for (let diesAt = 0; diesAt < whole.stored.length; diesAt += 1) {
    const ran: string[] = [];
    const dead = await answer([], diesAt, ran);
    assert.equal(dead.result, undefined);
    const resumed = await answer(dead.stored, Number.POSITIVE_INFINITY, ran);
    assert.equal(resumed.result?.kind === 'answer' && resumed.result.text, 'done', `died at ${diesAt}`);
    assert.deepEqual(ran.toSorted(), [...new Set(ran)].toSorted(), `died at ${diesAt}: ${ran}`);
  }
});
