// Lines of a command in the gateway log, beside a gateway that may be writing there too.

import type { Logger } from './core/log.ts';
import { createJsonLog, type LogSink } from './system/json-log.ts';
import { type RotatingFile, rotatingFile } from './system/log-sinks.ts';

/** The file is opened with the first line. It is never rotated here: a gateway that has it open would not notice. */
export function logToFile(path: string, secrets: readonly string[]): Logger {
  let file: RotatingFile | undefined;
  const sink: LogSink = {
    write(line) {
      file ??= rotatingFile(path, { maxBytes: Number.POSITIVE_INFINITY, keepFiles: 1 });
      file.write(line);
    },
  };
  return createJsonLog({ level: 'info', secrets, sinks: [sink] }).child({ part: 'delivery' });
}
