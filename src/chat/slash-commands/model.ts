// /model: which model answers, or another one for the rest of the chat.

import type { Model } from '../../agent/model.ts';
import type { SlashCommand } from '../slash-command.ts';

export interface ModelCommandDeps {
  modelFor(name: string | undefined): Pick<Model, 'label'>;
  current(): Pick<Model, 'label'>;
}

export const createModelCommand = (deps: ModelCommandDeps): SlashCommand => ({
  name: 'model',
  summary: 'Show the model, or use another one from now on.',
  usage: '/model [name | default]',
  async run([name], { print }) {
    if (name === undefined) {
      print(`Model: ${deps.current().label}`);
      return undefined;
    }
    const chosen = name === 'default' ? undefined : name;
    print(`Model: ${deps.modelFor(chosen).label}`);
    return { kind: 'use_model', name: chosen };
  },
});
