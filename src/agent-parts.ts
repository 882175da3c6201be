// Joins what a task of the agent needs: models, skills, tools with their servers and folders, and conversations.
// Loaded when the first task or chat asks for it.

import { readdir } from 'node:fs/promises';
import { systemText } from './agent/instructions.ts';
import { createModels, type Models } from './agent/models.ts';
import {
  availableSkillsSection,
  bundledSkillsFolder,
  createSkills,
  type Skills,
  skillSection,
} from './agent/skills.ts';
import type { Tool, Trust } from './agent/tool.ts';
import type { Browsers } from './browser/supervisors.ts';
import type { Conversation, ConversationDeps } from './chat/conversation.ts';
import { createSlashCommands } from './chat/registry.ts';
import type { SlashCommand } from './chat/slash-command.ts';
import type { LoadedConfig } from './config/load.ts';
import type { HomePaths } from './config/paths.ts';
import type { Config } from './config/schema.ts';
import { SvcError } from './core/errors.ts';
import type { Logger } from './core/log.ts';
import { isFinal, type Run } from './core/run.ts';
import type { Clock, NewId } from './core/time.ts';
import type { Deliverer } from './delivery/deliver.ts';
import type { Jobs } from './jobs/jobs.ts';
import type { JobAccess, Questions } from './jobs/questions.ts';
import { enqueueDelivery } from './store/deliveries.ts';
import { getRun } from './store/runs.ts';
import type { Store } from './store/store.ts';
import { createHttpCaller } from './system/fetch-json.ts';
import { runProcess } from './system/process.ts';
import { createSandbox, runUnconfined } from './system/sandbox.ts';
import { createMcpServers, type McpServers } from './tools/mcp-servers.ts';
import { FROM_CHAT } from './tools/own-command.ts';
import { createToolbox, createTools, type Toolbox } from './tools/registry.ts';
import type { SendMessage } from './tools/send-message.ts';
import type { TerminalDeps } from './tools/terminal.ts';
import { namesWithin } from './tools/toolsets.ts';
import { createWorkFolders, type WorkFolders } from './tools/work-folders.ts';

const CHAT_TOOLSET = 'svc-chat';
const OWN_COMMAND_MS = 60_000;
// Names that grant the tool which loads skills.
const SKILL_NAMES = ['skill', 'skills', 'core'];

/** What the parts are made from; the app is one. */
export interface House {
  readonly env: NodeJS.ProcessEnv;
  readonly paths: HomePaths;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly log: Logger;
  config(): Promise<LoadedConfig>;
  store(): Promise<Store>;
  delivery(): Promise<Deliverer>;
  browsers(): Promise<Browsers>;
  jobs(): Promise<{ jobs: Jobs; questions: Questions }>;
}

export interface AgentParts {
  readonly models: Models;
  readonly skills: Skills;
  readonly toolbox: Toolbox;
  readonly servers: McpServers;
  conversation(): Promise<ConversationDeps>;
  /** The slash commands of a chat; `current` is its conversation at the time of the call. */
  slashCommands(current: () => Conversation): readonly SlashCommand[];
  /** The tools a run was granted and can have; what is hidden or unknown is logged. */
  toolsFor(run: Run, trust: Trust): Promise<readonly Tool[]>;
  /**
   * The texts of a run's skills, and the list of those it may load itself. A webhook's run gets the first one found, a
   * job's run all of them. Throws SvcError `skill_invalid` when a job's skill is gone.
   */
  skillsFor(run: Run): Promise<readonly string[]>;
  /** Lets go of the task; `ended` also removes its work folder. Never throws. */
  endTask(taskId: string, ended: boolean): Promise<void>;
  /** Removes work folders of runs that ended while nobody was looking. */
  sweepFolders(): Promise<void>;
  close(): Promise<void>;
}

/** `outbox` says that messages are queued and sent by this process later; else they are sent at once. */
export async function openAgentParts(house: House, options: { outbox: boolean }): Promise<AgentParts> {
  const { config, environment } = await house.config();
  const log = house.log.child({ part: 'agent' });
  const models = createModels({ config, env: environment });
  const skills = createSkills([
    { path: house.paths.skills, origin: 'user' },
    { path: bundledSkillsFolder(), origin: 'bundled' },
  ]);
  const folders = createWorkFolders(house.paths.work);
  const http = createHttpCaller();
  const servers = createMcpServers(config.mcp_servers, log);
  const browsers = await house.browsers();
  const jobs: JobAccess = {
    jobs: async () => (await house.jobs()).jobs,
    questions: async () => (await house.jobs()).questions,
  };
  const tools = createTools({
    browsers,
    jobs,
    files: { folders, roots: config.files.roots },
    terminal: terminalDeps(house, config, folders),
    http,
    skills,
    send: options.outbox ? queueMessage(house) : sendNow(house),
  });
  const toolbox = createToolbox(tools, servers, config.toolsets);
  const chatTools = (sessionId: string) => toolbox.resolve([CHAT_TOOLSET], { trust: 'person', taskId: sessionId });

  return {
    models,
    skills,
    toolbox,
    servers,
    conversation: async () => ({
      store: await house.store(),
      now: house.clock.now,
      newId: house.newId,
      modelFor: models.modelFor,
      toolsFor: async (sessionId) => (await chatTools(sessionId)).granted,
      systemFor: async (granted) => {
        const canLoad = granted.some((tool) => tool.name === 'skill');
        const listed = canLoad ? availableSkillsSection((await skills.list()).skills) : undefined;
        return systemText({
          now: house.clock.now(),
          ...(config.agent.instructions === undefined ? {} : { instructions: config.agent.instructions }),
          untrusted: false,
          attended: true,
          sections: listed === undefined ? [] : [listed],
        });
      },
      limits: {
        maxSteps: config.agent.max_steps,
        ...(config.agent.max_tokens === undefined ? {} : { maxTokens: config.agent.max_tokens }),
        timeoutMs: config.agent.timeout_s * 1000,
      },
    }),
    slashCommands: (current) =>
      createSlashCommands({
        model: { modelFor: models.modelFor, current: () => current().model },
        tools: { toolsOf: chatTools },
        skills,
        browsers,
        jobs,
      }),
    async toolsFor(run, trust) {
      const resolved = await toolbox.resolve(run.settings.toolsets, { trust, taskId: run.id });
      for (const { name, reason } of resolved.hidden) log.info('A tool is hidden', { run: run.id, tool: name, reason });
      for (const name of resolved.unknown) log.warn('There is no such tool or toolset', { run: run.id, name });
      const allowed = run.settings.allowedTools;
      // What an agent made never has more than its maker had.
      return allowed ? resolved.granted.filter((tool) => allowed.includes(tool.name)) : resolved.granted;
    },
    async skillsFor(run) {
      const texts: string[] = [];
      for (const name of run.settings.skills) {
        const found = await skills.find(name);
        if (found.kind === 'found') texts.push(skillSection(found.skill));
        // A job without its instructions might do something else than it was made for.
        else if (run.source.kind === 'job')
          throw new SvcError('skill_invalid', `The skill ${name} of this job is ${found.kind}.`);
        else log.warn('A skill could not be loaded', { run: run.id, skill: name, reason: found.kind });
        if (texts.length > 0 && run.source.kind === 'webhook') break;
      }
      const names = namesWithin(run.settings.toolsets, config.toolsets);
      const listed = SKILL_NAMES.some((name) => names.has(name))
        ? availableSkillsSection((await skills.list()).skills)
        : undefined;
      return listed === undefined ? texts : [...texts, listed];
    },
    async endTask(taskId, ended) {
      await browsers.end(taskId);
      if (ended)
        await folders.remove(taskId).catch((error: unknown) => log.warn('A work folder stays', { taskId, error }));
    },
    async sweepFolders() {
      const store = await house.store();
      const names = await readdir(house.paths.work).catch(() => []);
      for (const name of names.filter((one) => one.startsWith('run_'))) {
        const run = await store.read(getRun({ id: name }));
        if (!run || isFinal(run.state)) await folders.remove(name);
      }
    },
    async close() {
      await Promise.all([servers.close(), models.close(), http.close()]);
    },
  };
}

function terminalDeps(house: House, config: Config, folders: WorkFolders): TerminalDeps {
  const { sandbox, network, timeout_s, max_output_bytes: maxOutputBytes } = config.terminal;
  return {
    folders,
    sandbox: createSandbox(house.env.PATH),
    settings: { sandbox, network, timeoutMs: timeout_s * 1000, maxOutputBytes },
    runUnconfined: (options) => runUnconfined(options, { ...house.env, SVC_HOME: house.paths.home }),
    // This program itself, not a shell: it may have the whole environment.
    runSvc: (words, { folder, signal }) =>
      runProcess({
        command: process.execPath,
        args: [process.argv[1] ?? '', ...words],
        cwd: folder,
        env: { ...definedOnly(house.env), SVC_HOME: house.paths.home, NO_COLOR: '1', [FROM_CHAT]: '1' },
        timeoutMs: OWN_COMMAND_MS,
        maxOutputBytes,
        mergeStderr: true,
        signal,
      }),
  };
}

/** In the gateway: stored first, so that the message outlives a crash and is retried. */
const queueMessage =
  (house: House): SendMessage =>
  async ({ address, text, source }) => {
    const problem = (await house.delivery()).problem(address);
    if (problem !== undefined) return { kind: 'failed', reason: problem };
    const store = await house.store();
    await store.write(enqueueDelivery({ id: house.newId('dlv'), source, address, text, createdAt: house.clock.now() }));
    return { kind: 'queued' };
  };

/** In a command: there may be no gateway to send it later. */
const sendNow =
  (house: House): SendMessage =>
  async ({ address, text, source, signal }) => {
    const delivery = await house.delivery();
    const outcome = await delivery.attempt({ id: house.newId('dlv'), address, text, source, partsSent: 0 }, signal);
    if (outcome.kind === 'delivered') return { kind: 'sent', ...(outcome.note ? { note: outcome.note } : {}) };
    return { kind: 'failed', reason: outcome.reason };
  };

const definedOnly = (env: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined));
