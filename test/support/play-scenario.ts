// Plays one scenario live: opens a stage, waits at each mark until its check holds, and keeps the recording.

import { Recorder } from '../../src/browser/cdp/recording.ts';
import type { SupervisorEvent } from '../../src/browser/reduce.ts';
import { supervisorFields } from '../../src/browser/snapshot.ts';
import type { BrowserState } from '../../src/browser/state.ts';
import type { Scenario } from './browser-scenarios.ts';
import { Stage, type Theatre } from './browser-stage.ts';

const MARK_MS = 10_000;

/** Resolves with the recording of the run. Rejects when a check never holds. */
export async function playScenario(theatre: Theatre, scenario: Scenario): Promise<string> {
  const events: (SupervisorEvent | { mark: string })[] = [];
  const config = { ...(scenario.hosted ? { hosted: { cdp_url: theatre.address } } : {}), ...scenario.config };
  const stage = new Stage(theatre, { config, onEvent: (event) => events.push(event) });
  try {
    await scenario.run(stage, async (name) => {
      await holds(stage, scenario, name);
      events.push({ mark: name });
    });
    const recorder = new Recorder((await stage.state()).settings);
    for (const event of events) {
      if ('mark' in event) recorder.mark(event.mark);
      else recorder.event(event);
    }
    return recorder.text;
  } finally {
    await stage.close();
  }
}

async function holds(stage: Stage, { checks }: Scenario, name: string): Promise<void> {
  const check = checks[name];
  if (check === undefined) throw new Error(`no check called ${name}`);
  let problem: unknown;
  const passes = (state: BrowserState) => {
    try {
      check(supervisorFields(state), state);
      return true;
    } catch (error) {
      problem = error;
      return false;
    }
  };
  const { supervisor } = await stage.browser();
  if (!(await supervisor.until(passes, MARK_MS))) throw problem;
}
