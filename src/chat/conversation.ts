// A person's conversation with the agent. Every message and step is stored before the next; what was said before an
// interruption stays said.

import { type AgentEvent, type AgentResult, runAgent } from '../agent/agent.ts';
import type { Model } from '../agent/model.ts';
import type { Tool } from '../agent/tool.ts';
import type { Address } from '../core/address.ts';
import { SvcError } from '../core/errors.ts';
import type { Session, SessionEntry, StoredEntry } from '../core/session.ts';
import { CHAT_ID_PREFIX } from '../core/task.ts';
import type { NewId } from '../core/time.ts';
import { appendToSession, hasUnshown, keepSession, listSessions, readSession, takeUnshown } from '../store/sessions.ts';
import type { Store } from '../store/store.ts';
import { CHAT_TARGET } from './chat-target.ts';
import { sessionMessages } from './session-messages.ts';

export interface ConversationDeps {
  store: Pick<Store, 'read' | 'write'>;
  now(): number;
  newId: NewId;
  /** The configured model, or another one of the same server. */
  modelFor(name: string | undefined): Model;
  /** What the session may use; asked before every turn, because a browser or a server may have come or gone. */
  toolsFor(sessionId: string): Promise<readonly Tool[]>;
  systemFor(tools: readonly Tool[]): Promise<string>;
  limits: { maxSteps: number; maxTokens?: number; timeoutMs: number };
}

export interface Conversation {
  readonly sessionId: string;
  /** Where jobs made in this conversation answer to. */
  readonly origin: Address;
  /** Uses this model from the next turn on; undefined goes back to the configured one. */
  useModel(name: string | undefined): void;
  readonly model: Model;
  /** One turn. Throws only what the store throws. */
  say(prompt: string, options: { signal: AbortSignal; onEvent?(event: AgentEvent): void }): Promise<AgentResult>;
  /** Stores the session although nothing was said yet; `title` is what it is listed under. */
  keep(title: string): Promise<void>;
  /** Messages that came in by themselves and were not shown yet; they count as shown and are known to the model. */
  takeArrived(): Promise<StoredEntry[]>;
  hasArrived(): Promise<boolean>;
}

export const originOf = (sessionId: string): Address => ({ target: CHAT_TARGET, chatId: sessionId });

/** A new conversation; it is stored from its first prompt on. */
export const startConversation = (deps: ConversationDeps): Conversation =>
  conversation(deps, deps.newId(CHAT_ID_PREFIX), []);

/** Goes on with a stored session, the newest one when none is named. Throws SvcError `not_found`. */
export async function continueConversation(
  deps: ConversationDeps,
  sessionId?: string,
): Promise<{ conversation: Conversation; session: Session }> {
  const id = sessionId ?? (await deps.store.read(listSessions({ limit: 1 })))[0]?.id;
  const found = id === undefined ? undefined : await deps.store.read(readSession({ sessionId: id }));
  if (!found) {
    const message = sessionId === undefined ? 'There is no earlier chat.' : `There is no chat session ${sessionId}.`;
    throw new SvcError('not_found', message, {
      help: 'svc sessions list shows all of them; svc chat starts a new one.',
    });
  }
  // What nobody has seen yet is taken up when it is shown.
  const entries = found.entries.filter(({ shown }) => shown).map(({ entry }) => entry);
  return { conversation: conversation(deps, found.session.id, entries), session: found.session };
}

function conversation(deps: ConversationDeps, sessionId: string, before: readonly SessionEntry[]): Conversation {
  const entries: SessionEntry[] = [...before];
  const origin = originOf(sessionId);
  let modelName: string | undefined;

  const append = async (entry: SessionEntry): Promise<void> => {
    await deps.store.write(appendToSession({ sessionId, entries: [entry], at: deps.now() }));
    entries.push(entry);
  };

  return {
    sessionId,
    origin,
    useModel(name) {
      modelName = name;
    },
    get model() {
      return deps.modelFor(modelName);
    },
    async say(prompt, options) {
      await append({ kind: 'prompt', text: prompt });
      const tools = await deps.toolsFor(sessionId);
      const timeOver = AbortSignal.timeout(deps.limits.timeoutMs);
      const { timeoutMs, ...limits } = deps.limits;
      // What the model has said since its last stored step: kept when the turn is interrupted.
      let unstored = '';
      const result = await runAgent({
        context: {
          taskId: sessionId,
          trust: 'person',
          grantedTools: tools.map((tool) => tool.name),
          origin,
          signal: AbortSignal.any([options.signal, timeOver]),
        },
        system: await deps.systemFor(tools),
        messages: sessionMessages(entries),
        tools,
        model: deps.modelFor(modelName),
        limits,
        recorded: [],
        async record(step) {
          if (step.kind === 'model') unstored = '';
          await append(step);
        },
        onEvent(event) {
          if (event.kind === 'text') unstored += event.delta;
          options.onEvent?.(event);
        },
      });
      if (result.kind === 'interrupted' && timeOver.aborted && !options.signal.aborted) {
        const reason = `The turn took longer than ${timeoutMs / 1000} s.`;
        await append({ kind: 'failed', reason });
        return {
          kind: 'failed',
          reason,
          transient: false,
          help: 'Raise agent.timeout_s in config.yaml, or ask for less.',
        };
      }
      if (result.kind === 'interrupted') await append({ kind: 'interrupted', text: unstored });
      if (result.kind === 'failed') await append({ kind: 'failed', reason: result.reason });
      return result;
    },
    keep: (title) => deps.store.write(keepSession({ sessionId, title, at: deps.now() })),
    async takeArrived() {
      const arrived = await deps.store.write(takeUnshown({ sessionId }));
      entries.push(...arrived.map(({ entry }) => entry));
      return arrived;
    },
    hasArrived: () => deps.store.read(hasUnshown({ sessionId })),
  };
}
