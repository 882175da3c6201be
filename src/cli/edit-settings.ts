// Changes config.yaml from a command: comments stay, and nothing is written when the result would not be valid.

import type { App } from '../app.ts';

/** `undefined` removes a key. Throws SvcError `config_invalid` with all problems. */
export async function editSettings(
  app: App,
  changes: readonly (readonly [path: readonly string[], value: unknown])[],
): Promise<void> {
  const [{ editConfig }, { readIfExists, writeFileAtomic }] = await Promise.all([
    import('../config/edit.ts'),
    import('../system/files.ts'),
  ]);
  await app.ensureHome();
  const before = (await readIfExists(app.paths.config)) ?? '';
  const after = changes.reduce((text, [path, value]) => editConfig(text, path, value), before);
  await app.checkSettings(after);
  writeFileAtomic(app.paths.config, after);
}
