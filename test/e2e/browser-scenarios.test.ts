// Every scenario of browser supervision, live in a real Chromium with site isolation.

import { after, before, describe, test } from 'node:test';
import { scenarioPages, scenarios } from '../support/browser-scenarios.ts';
import { chromiumOrSkip, openTheatre, type Theatre } from '../support/browser-stage.ts';
import { playScenario } from '../support/play-scenario.ts';

const skip = (await chromiumOrSkip()) === undefined ? 'no Chromium on this machine' : false;

describe('live', { skip }, () => {
  let theatre: Theatre;
  before(async () => {
    theatre = await openTheatre(scenarioPages);
  });
  after(() => theatre.close());

  for (const scenario of scenarios) {
    test(scenario.rule, { timeout: 60_000 }, async () => {
      await playScenario(theatre, scenario);
    });
  }
});
