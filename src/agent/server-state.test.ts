import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  stateFromHealth,
  stateFromLmStudio,
  stateFromMetrics,
  stateFromOllama,
  stateFromSlots,
  stateText,
} from './server-state.ts';

test('llama.cpp slots tell reading, generating and idle apart, in old and new spellings', () => {
  assert.deepEqual(stateFromSlots([{ id: 0, is_processing: false }]), { kind: 'idle' });
  assert.deepEqual(stateFromSlots([{ is_processing: true, next_token: { n_decoded: 0 } }]), { kind: 'prefilling' });
  assert.deepEqual(stateFromSlots([{ is_processing: true, next_token: [{ n_decoded: 7 }] }]), { kind: 'generating' });
  assert.deepEqual(stateFromSlots([{ state: 1, n_decoded: 3 }, { state: 0 }]), { kind: 'generating' });
  const half = {
    is_processing: true,
    n_prompt_tokens: 2000,
    n_prompt_tokens_processed: 500,
    next_token: [{ n_decoded: 0 }],
  };
  assert.deepEqual(stateFromSlots([half]), { kind: 'prefilling', percent: 25 });
  assert.equal(stateText({ kind: 'prefilling', percent: 25 }), 'The server is reading the prompt (25 %).');
});

test('Ollama is loading until the model is among those in memory', () => {
  assert.deepEqual(stateFromOllama({ models: [] }, 'qwen3'), { kind: 'loading' });
  assert.deepEqual(stateFromOllama({ models: [{ name: 'qwen3:latest' }] }, 'qwen3'), { kind: 'working' });
  assert.deepEqual(stateFromOllama({ models: [{ model: 'qwen3:4b' }] }, 'qwen3:4b'), { kind: 'working' });
});

test('LM Studio names the state of each model', () => {
  const json = {
    data: [
      { id: 'a', state: 'loaded' },
      { id: 'b', state: 'not-loaded' },
    ],
  };
  assert.deepEqual(stateFromLmStudio(json, 'a'), { kind: 'working' });
  assert.deepEqual(stateFromLmStudio(json, 'b'), { kind: 'loading' });
  assert.equal(stateFromLmStudio({ data: [{ id: 'a' }] }, 'a'), undefined);
});

test('vLLM metrics tell running, waiting and idle apart, over all engines', () => {
  const metrics = (running: number, waiting: number): string =>
    `# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine="0",model_name="m"} 0.0\nvllm:num_requests_running{engine="1",model_name="m"} ${running}.0\nvllm:num_requests_waiting{engine="0"} ${waiting}.0\n`;
  assert.deepEqual(stateFromMetrics(metrics(1, 3)), { kind: 'working' });
  assert.deepEqual(stateFromMetrics(metrics(0, 3)), { kind: 'queued' });
  assert.deepEqual(stateFromMetrics(metrics(0, 0)), { kind: 'idle' });
  assert.equal(stateFromMetrics('process_cpu_seconds_total 3\n'), undefined);
});

test('a health page tells loading from working', () => {
  assert.deepEqual(stateFromHealth(503, { error: { message: 'Loading model' } }), { kind: 'loading' });
  assert.deepEqual(stateFromHealth(200, { status: 'loading model' }), { kind: 'loading' });
  assert.deepEqual(stateFromHealth(200, undefined), { kind: 'working' });
  assert.equal(stateFromHealth(500, {}), undefined);
});

test('what is no answer of that server says nothing', () => {
  for (const json of [undefined, null, 'ok', {}, [], [1], { models: 'x' }, { data: {} }, [{ id: 1 }]]) {
    assert.equal(stateFromSlots(json), undefined);
    assert.equal(stateFromOllama(json, 'm'), undefined);
    assert.equal(stateFromLmStudio(json, 'm'), undefined);
  }
});
