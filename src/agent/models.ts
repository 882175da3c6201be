// The models of this installation: which one a task gets. Nothing heavy is loaded before the first call of one.

import type { Config } from '../config/schema.ts';
import type { Model, ModelReply } from './model.ts';
import { demoModel } from './models/demo.ts';

export interface Models {
  /** The configured model, or another one of the same server. Never throws: a model that cannot work says so when called. */
  modelFor(name?: string): Model;
  /** True while the built-in demo model answers because nothing is configured. */
  readonly isDemo: boolean;
  /** Closes kept connections. */
  close(): Promise<void>;
}

export interface ModelsInput {
  config: Pick<Config, 'model'>;
  env: NodeJS.ProcessEnv;
}

export function createModels({ config }: ModelsInput): Models {
  const settings = config.model;
  const isDemo = settings.provider === 'demo' || (!settings.provider && !settings.base_url && !settings.name);
  return {
    isDemo,
    modelFor(name) {
      if (name === 'demo' || (isDemo && name === undefined)) return demoModel();
      return brokenModel(name ?? settings.name ?? 'the model', {
        kind: 'failed',
        reason: `No model server is configured for "${name ?? settings.name}".`,
        transient: false,
        help: 'Choose a model with `svc model`.',
      });
    },
    close: async () => {},
  };
}

const brokenModel = (label: string, reply: ModelReply): Model => ({
  label,
  contextLength: undefined,
  complete: async () => reply,
});
