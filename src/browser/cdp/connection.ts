// One WebSocket to a browser: numbered calls with deadlines, events in arrival order, sessions on one wire.
// It knows nothing of dialogs or frames. Every call settles: by its reply, its deadline, or because its session or the
// whole connection is gone. Replies that come later are dropped.

import { WebSocket } from 'ws';
import { messageOf, SvcError } from '../../core/errors.ts';
import type { CommandName, CommandParams, CommandResult } from './protocol.ts';

export interface ConnectionOptions {
  url: string;
  openTimeoutMs?: number;
  /** Called synchronously for each event, in order. Must not throw. */
  onEvent(method: string, params: unknown, sessionId: string | undefined): void;
  /** Called once, when an opened connection is over for whatever reason. */
  onClose(reason: string): void;
}

export interface CallOptions {
  sessionId?: string | undefined;
  /** Zero waits for as long as the session lives. */
  deadlineMs?: number;
}

interface Call {
  method: string;
  sessionId: string | undefined;
  timer: NodeJS.Timeout | undefined;
  resolve(result: unknown): void;
  reject(error: SvcError): void;
}

export const DEFAULT_DEADLINE_MS = 10_000;
// Accessibility trees and screenshots of long pages come as one message of several megabytes.
const MAX_PAYLOAD_BYTES = 256 * 1024 * 1024;

export class CdpConnection {
  #socket: WebSocket;
  #calls = new Map<number, Call>();
  #lastId = 0;
  #options: ConnectionOptions;
  #closed = false;

  private constructor(socket: WebSocket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.on('message', (data) => this.#receive(String(data)));
    // The close event follows every error; without this listener Node would end the process.
    socket.on('error', () => {});
    socket.on('close', (code) => this.#over(`The connection to the browser ended (code ${code}).`));
  }

  /** Rejects with `browser_gone` when nothing answers there as a browser would. The address may hold a token: never shown. */
  static open(options: ConnectionOptions): Promise<CdpConnection> {
    return new Promise((resolve, reject) => {
      const refuse = (cause: unknown) => {
        const help = 'Check that the browser runs and that its debugging address is right (`svc browser doctor`).';
        reject(
          new SvcError('browser_gone', `No browser answered: ${withoutAddress(messageOf(cause))}`, { help, cause }),
        );
      };
      let socket: WebSocket;
      try {
        socket = new WebSocket(options.url, {
          perMessageDeflate: false,
          maxPayload: MAX_PAYLOAD_BYTES,
          handshakeTimeout: options.openTimeoutMs ?? DEFAULT_DEADLINE_MS,
        });
      } catch (cause) {
        refuse(cause);
        return;
      }
      socket.once('error', refuse);
      socket.once('open', () => {
        socket.off('error', refuse);
        resolve(new CdpConnection(socket, options));
      });
    });
  }

  /** Rejects with `cdp_error` (the browser said no), `timeout` or `browser_gone`. */
  call<M extends CommandName>(method: M, params?: CommandParams<M>, options?: CallOptions): Promise<CommandResult<M>> {
    return this.callAny(method, params, options) as Promise<CommandResult<M>>;
  }

  /** The same for methods that only the caller knows. */
  callAny(method: string, params?: unknown, options: CallOptions = {}): Promise<unknown> {
    const { sessionId, deadlineMs = DEFAULT_DEADLINE_MS } = options;
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        reject(gone('The connection to the browser is closed.'));
        return;
      }
      const id = ++this.#lastId;
      const expire = () => {
        this.#calls.delete(id);
        reject(timedOut(method, deadlineMs));
      };
      const timer = deadlineMs > 0 ? setTimeout(expire, deadlineMs) : undefined;
      this.#calls.set(id, { method, sessionId, timer, resolve, reject });
      this.#write(id, method, params, sessionId);
    });
  }

  /** Writes a command whose reply nobody waits for. */
  post(method: string, params: unknown, sessionId: string | undefined): void {
    if (!this.#closed) this.#write(++this.#lastId, method, params, sessionId);
  }

  /** Rejects what still waits on these sessions: Chromium answers nothing for a session that died or crashed. */
  rejectSessions(sessionIds: ReadonlySet<string>, reason: string): void {
    for (const [id, call] of this.#calls) {
      if (call.sessionId === undefined || !sessionIds.has(call.sessionId)) continue;
      this.#settle(id, call);
      call.reject(
        new SvcError('cdp_error', `${call.method} got no answer: ${reason}`, {
          help: 'Take a new browser_snapshot and try again.',
        }),
      );
    }
  }

  /** Ends at once, without waiting for the other side. Calling it twice does nothing. */
  close(): void {
    this.#socket.terminate();
    this.#over('The connection to the browser was closed.');
  }

  #write(id: number, method: string, params: unknown, sessionId: string | undefined): void {
    // As bytes: ws then writes header and text in one piece, where a string costs two.
    this.#socket.send(Buffer.from(JSON.stringify({ id, method, params, sessionId })), { binary: false });
  }

  #receive(data: string): void {
    const message = parse(data);
    if (message === undefined) return;
    if (typeof message.id === 'number') {
      const call = this.#calls.get(message.id);
      if (call === undefined) return;
      this.#settle(message.id, call);
      if (message.error === undefined) call.resolve(message.result ?? {});
      else call.reject(refused(call.method, message.error));
      return;
    }
    if (typeof message.method !== 'string') return;
    this.#options.onEvent(
      message.method,
      message.params,
      typeof message.sessionId === 'string' ? message.sessionId : undefined,
    );
  }

  #settle(id: number, call: Call): void {
    this.#calls.delete(id);
    clearTimeout(call.timer);
  }

  #over(reason: string): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const [id, call] of this.#calls) {
      this.#settle(id, call);
      call.reject(gone(reason));
    }
    this.#options.onClose(reason);
  }
}

interface Incoming {
  id?: unknown;
  method?: unknown;
  params?: unknown;
  sessionId?: unknown;
  result?: unknown;
  error?: unknown;
}

function parse(data: string): Incoming | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function gone(message: string): SvcError {
  return new SvcError('browser_gone', message, { help: 'Call browser_navigate to start or reach a browser again.' });
}

function timedOut(method: string, deadlineMs: number): SvcError {
  const help = 'The page is busy or blocked. Take a browser_snapshot to see dialogs, or reload with browser_navigate.';
  return new SvcError('timeout', `${method} got no answer within ${deadlineMs / 1000} s.`, { help });
}

function refused(method: string, error: unknown): SvcError {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  const reason = typeof message === 'string' ? message : 'no reason given';
  const help = 'Check the method and its parameters against the Chrome DevTools Protocol.';
  return new SvcError('cdp_error', `${method} failed: ${reason}${typeof code === 'number' ? ` (${code})` : ''}`, {
    help,
  });
}

function withoutAddress(message: string): string {
  return message.replace(/(wss?|https?):\/\/\S+/g, '$1://…');
}
