// What a person watching an agent sees as it happens.

export type AgentEvent =
  | { kind: 'text'; delta: string }
  | { kind: 'thinking'; delta: string }
  | { kind: 'tool_call'; id: string; name: string; arguments: unknown }
  | { kind: 'tool_result'; id: string; name: string; output: string; failed: boolean }
  /** Something a waiting person should know: a retry, a loading local server, a compaction. */
  | { kind: 'notice'; text: string };
