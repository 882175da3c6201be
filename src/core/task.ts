// One task is one run or one chat session. The kind stands in its id, so that whoever holds a task id can tell.

/** The prefix of a chat session's id, for `newId`. */
export const CHAT_ID_PREFIX = 'chat';

/** True for the chat of a person at this machine: only there may the sandbox be switched off or have a network. */
export const isChatTask = (taskId: string): boolean => taskId.startsWith(`${CHAT_ID_PREFIX}_`);

/** Keeps a task id inside one path segment, whatever it came from. */
export const isTaskId = (text: string): boolean => /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(text);
