// What most commands do: open the app, use it, close it whatever happens.

import { type App, openApp } from '../app.ts';
import type { CliContext } from './command.ts';

export async function withApp<T>(context: CliContext, use: (app: App) => Promise<T>): Promise<T> {
  const app = openApp({ env: context.env });
  try {
    return await use(app);
  } finally {
    await app.close();
  }
}
