// Whether what a route, a subscription or a job names exists: targets, skills, tools, jobs. One rule wherever they are made:
// what does not exist is refused with the name that was meant; what is only not set up yet is a warning.

import { bundledSkillsFolder, createSkills } from './agent/skills.ts';
import type { App } from './app.ts';
import { type Address, addressWithExtra } from './core/address.ts';
import { nearest } from './core/nearest.ts';
import type { AddressState } from './delivery/deliver.ts';
import { extraKeyProblems } from './delivery/extra-keys.ts';
import type { Route } from './webhooks/route.ts';

export interface References {
  skillProblem(name: string): Promise<string | undefined>;
  toolsetProblem(name: string): Promise<string | undefined>;
  addressState(address: Address, options?: { open?: boolean }): Promise<AddressState>;
}

export function openReferences(app: App): References {
  const skills = createSkills([
    { path: app.paths.skills, origin: 'user' },
    { path: bundledSkillsFolder(), origin: 'bundled' },
  ]);
  return {
    async skillProblem(name) {
      const found = await skills.find(name);
      if (found.kind === 'found') return undefined;
      if (found.kind === 'broken') return `The skill ${name} cannot be read: ${found.reason}`;
      const meant = nearest(name, found.available);
      return `There is no skill ${name}.${meant === undefined ? '' : ` Did you mean ${meant}?`}`;
    },
    toolsetProblem: async (name) => (await app.agent()).toolbox.problem(name),
    addressState: async (address, options) => (await app.delivery()).stateOf(address, options),
  };
}

export interface RouteFaults {
  /** Cannot work whatever is set up. */
  errors: string[];
  /** Works once something is set up or made. */
  warnings: string[];
}

/** What the names of a route lead to. Keys that `deliver_only` or `cron_job` leave unused are not looked at. */
export async function routeFaults(app: App, route: Route): Promise<RouteFaults> {
  const references = openReferences(app);
  const faults: RouteFaults = { errors: [], warnings: [] };
  if (route.cronJob !== undefined) {
    const job = await (await app.jobs()).jobs.findIfThere(route.cronJob);
    if (job === undefined)
      faults.warnings.push(
        `There is no job ${route.cronJob}. \`svc cron list\` shows all, \`svc cron create\` makes one.`,
      );
    return faults;
  }
  const keys = route.deliverExtra.map(({ key }) => key);
  faults.errors.push(...extraKeyProblems(route.addresses, keys));
  // What comes from payloads is not there yet.
  const open = route.deliverExtra.some(({ value }) => value.parts.some((part) => 'path' in part));
  const extra = Object.fromEntries(route.deliverExtra.map(({ key, value }) => [key, value.source]));
  for (const address of route.addresses) {
    const state = await references.addressState(open ? address : addressWithExtra(address, extra), { open });
    if (state.kind === 'unknown') faults.errors.push(`deliver: ${state.reason}`);
    else if (state.kind !== 'ready') faults.warnings.push(`deliver: ${state.reason}`);
  }
  if (route.deliverOnly) return faults;
  for (const name of route.toolsets) {
    const problem = await references.toolsetProblem(name);
    if (problem !== undefined) faults.errors.push(`toolsets: ${problem}`);
  }
  // Of a route only the first skill that is found is loaded; the others may be for other machines, or come later.
  const missing = (await Promise.all(route.skills.map(references.skillProblem))).filter((one) => one !== undefined);
  faults.warnings.push(...missing.map((problem) => `skills: ${problem}`));
  return faults;
}
