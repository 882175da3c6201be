// The folder of a task: where its terminal and its file tools work. One per task, private, made when it is first needed.

import { mkdir, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SvcError } from '../core/errors.ts';
import { isTaskId } from '../core/task.ts';

export interface WorkFolders {
  /** The folder's real path; it exists afterwards. */
  of(taskId: string): Promise<string>;
  /** Removes it with everything in it; nothing happens when there is none. */
  remove(taskId: string): Promise<void>;
}

export function createWorkFolders(root: string): WorkFolders {
  const pathOf = (taskId: string) => {
    // The id becomes a path: a stranger's spelling must not lead out of the root.
    if (!isTaskId(taskId)) throw new SvcError('invalid_input', `${JSON.stringify(taskId)} is not a task id.`);
    return join(root, taskId);
  };
  return {
    async of(taskId) {
      const path = pathOf(taskId);
      await mkdir(path, { recursive: true, mode: 0o700 });
      return realpath(path);
    },
    async remove(taskId) {
      await rm(pathOf(taskId), { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
