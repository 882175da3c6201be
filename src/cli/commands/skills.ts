// `svc skills`: which skills there are, what they say, and what is wrong with the broken ones.

import type { Command } from 'commander';
import { SvcError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import type { CliContext, CommandModule } from '../command.ts';
import { addExamples, printJson, printListing } from '../listing.ts';
import { withApp } from '../with-app.ts';

export const skills: CommandModule = {
  define(command, context) {
    command.description('List, show and check skills: folders with a SKILL.md in <home>/skills, and the bundled ones.');
    addExamples(command, ['svc skills list', 'svc skills show webhook-subscriptions', 'svc skills check']);
    defineList(command.command('list'), context);
    defineShow(command.command('show'), context);
    defineCheck(command.command('check'), context);
  },
};

function defineList(command: Command, context: CliContext): void {
  command.description('List the skills that can be loaded.').option('--json', 'print JSON');
  addExamples(command, ['svc skills list', 'svc skills list --json']);
  command.action((options: { json?: true }) =>
    withApp(context, async (app) => {
      const found = await (await app.agent()).skills.list();
      printListing(context, found.skills, {
        json: options.json === true,
        empty: 'There are no skills.',
        columns: [
          { title: 'SKILL', value: (skill) => skill.name },
          { title: 'FROM', value: (skill) => skill.origin },
          { title: 'DESCRIPTION', value: (skill) => skill.description },
        ],
        toJson: ({ name, description, origin, folder }) => ({ name, description, origin, folder }),
      });
      if (found.problems.length > 0) {
        context.stderr.write(`${found.problems.length} skill(s) cannot be used; see svc skills check.\n`);
      }
    }),
  );
}

function defineShow(command: Command, context: CliContext): void {
  command.description('Show the text of a skill.').argument('<name>', 'its name').option('--json', 'print JSON');
  addExamples(command, ['svc skills show webhook-subscriptions']);
  command.action((name: string, options: { json?: true }) =>
    withApp(context, async (app) => {
      const found = await (await app.agent()).skills.find(name);
      if (found.kind === 'broken') {
        throw new SvcError('skill_invalid', found.reason, {
          help: 'Mend the file; svc skills check shows whether it is right.',
        });
      }
      if (found.kind === 'missing') {
        const meant = nearest(name, found.available);
        const help = meant === undefined ? 'svc skills list shows all of them.' : `Did you mean ${meant}?`;
        throw new SvcError('not_found', `There is no skill "${name}".`, { help });
      }
      const { description, origin, folder, text } = found.skill;
      if (options.json) return printJson(context, { name, description, origin, folder, text });
      context.stdout.write(`${text.trim()}\n`);
    }),
  );
}

function defineCheck(command: Command, context: CliContext): void {
  command.description('Check every skill; exit code 1 when one cannot be used.').option('--json', 'print JSON');
  addExamples(command, ['svc skills check']);
  command.action((options: { json?: true }) =>
    withApp(context, async (app) => {
      const found = await (await app.agent()).skills.list();
      if (options.json) {
        printJson(context, { ok: found.skills.map(({ name }) => name), problems: found.problems });
      } else {
        for (const { name } of found.skills) context.stdout.write(`ok      ${name}\n`);
        for (const { path, reason } of found.problems) context.stdout.write(`broken  ${path}: ${reason}\n`);
      }
      if (found.problems.length > 0) {
        throw new SvcError('skill_invalid', `${found.problems.length} skill(s) cannot be used.`, {
          help: 'Mend the files named above.',
        });
      }
    }),
  );
}
