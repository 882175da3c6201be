// THE description of config.yaml. Types, docs/configuration.md and config.schema.json are read off this file.
// A target's own keys (`platforms.<name>.extra`) are described in the target's file and handed to `load`.

import { z } from 'zod';
import { SCHEME_ALIASES } from '../core/names.ts';

/** Marks a string that must never be shown: `svc config show`, logs and error messages mask it. */
const secret = (description: string) => z.string().min(1).describe(description).meta({ secret: true });
const seconds = (description: string) => z.number().positive().describe(description);
const names = (description: string) => z.array(z.string().min(1)).describe(description);

export const DIALOG_POLICIES = ['must_respond', 'auto_dismiss', 'auto_accept'] as const;
export const DIALOG_BRIDGES = ['auto', 'always', 'never'] as const;
export const SIGNATURE_SCHEMES = [
  'auto',
  'github',
  'gitlab',
  'generic',
  'standard',
  'stripe',
  'slack',
  'linear',
  'shopify',
  'sentry',
  'pagerduty',
  'gitea',
  'grafana',
  'bearer',
] as const;
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;

const secretOrSecrets = (description: string) =>
  z
    .union([z.string().min(1), z.array(z.string().min(1)).min(1).max(2)])
    .describe(description)
    .meta({ secret: true });

/** A value compared with a field of the payload (`a.b.0`), with `event` or with `headers.<name>`. */
const filterField = z.string().min(1);
const filterLeaf = z.union([
  z.strictObject({ field: filterField, exists: z.literal(true) }),
  z.strictObject({ field: filterField, missing: z.literal(true) }),
  z.strictObject({ field: filterField, equals: z.json() }),
  z.strictObject({ field: filterField, not_equals: z.json() }),
  z.strictObject({ field: filterField, contains: z.json() }),
  z.strictObject({ field: filterField, in: z.array(z.json()).min(1) }),
  z.strictObject({ field: filterField, regex: z.string().min(1).max(1000) }),
]);
export type Filter = z.infer<typeof filterLeaf> | { all: Filter[] } | { any: Filter[] } | { not: Filter };
const filter: z.ZodType<Filter> = z.lazy(() =>
  z.union([
    filterLeaf,
    z.strictObject({ all: z.array(filter).min(1) }),
    z.strictObject({ any: z.array(filter).min(1) }),
    z.strictObject({ not: filter }),
  ]),
);

export const routeSchema = z.strictObject({
  description: z.string().describe('A note for people.').optional(),
  enabled: z.boolean().describe('False answers 404 as if the route did not exist.').default(true),
  events: names('Accepted event types; empty accepts all.').default([]),
  secret: secretOrSecrets(
    'Signature secret, or two of them while one is being replaced. `INSECURE_NO_AUTH` skips verification for loopback clients.',
  ).optional(),
  scheme: z
    .enum([...SIGNATURE_SCHEMES, ...(Object.keys(SCHEME_ALIASES) as (keyof typeof SCHEME_ALIASES)[])])
    .describe('How requests are signed.')
    .default('auto'),
  filters: z
    .union([filter, z.array(filter)])
    .describe('Only events that match become runs; a list means all of them.')
    .optional(),
  prompt: z.string().describe('Template of the prompt; absent means the whole payload.').optional(),
  skills: names('Skills for the run; only the first one found is loaded.').default([]),
  deliver: z
    .string()
    .min(1)
    .describe('Where the answer goes, e.g. `log`, `telegram`, `github_comment`.')
    .default('log'),
  deliver_extra: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .describe('Keys of the target (`chat_id`, `thread_id`, `repo`, `pr_number`, ...); values are templates.')
    .default({}),
  deliver_only: z.boolean().describe('Skip the agent: the rendered prompt is the message.').default(false),
  toolsets: names('Toolsets or tools of the run instead of `svc-webhook`.').optional(),
  model: z.string().min(1).describe('Model name for this route.').optional(),
  concurrency: z.int().min(1).describe('Runs of this route at the same time.').optional(),
  serial_key: z.string().min(1).describe('Template; runs with the same value run one after another.').optional(),
  timeout_s: seconds('Time limit of a run.').optional(),
  cron_job: z.string().min(1).describe('Start this scheduled job instead of a run of its own.').optional(),
  dedupe_body: z
    .boolean()
    .describe('Also treat an equal body within the hour as a duplicate, whatever its delivery id.')
    .default(false),
});
export type RouteConfig = z.infer<typeof routeSchema>;

const webhookExtra = z.strictObject({
  host: z.string().min(1).describe('Bind address.').default('0.0.0.0'),
  port: z.int().min(0).max(65535).describe('Listening port.').default(8644),
  secret: secretOrSecrets('Secret of every route that has none of its own.').optional(),
  rate_limit: z.int().min(1).describe('Accepted requests per minute and route, fixed window.').default(30),
  max_body_bytes: z.int().min(1).describe('Largest accepted body.').default(1048576),
  public_url: z.url().describe('How senders reach the gateway; used in printed addresses.').optional(),
  keep_days: z.number().positive().describe('Stored events older than this are removed.').default(30),
  keep_megabytes: z.number().positive().describe('The oldest stored events are removed beyond this size.').default(512),
  routes: z.record(z.string(), routeSchema).describe('Route name to route.').default({}),
});

export const homeChannelSchema = z.strictObject({
  chat_id: z
    .union([z.string().min(1), z.number()])
    .describe('The chat used when an address names none.')
    .optional(),
  thread_id: z
    .union([z.string().min(1), z.number()])
    .describe('The topic or thread in it.')
    .optional(),
  name: z.string().describe('A name for people.').optional(),
});

/** What every delivery platform shares; `extra` is described by the target. */
export const platformSchema = z.strictObject({
  enabled: z.boolean().describe('Whether messages may be sent there.').default(false),
  token: secret('The token or key of the platform.').optional(),
  home_channel: homeChannelSchema.describe('Where messages go that name no chat.').optional(),
  extra: z.record(z.string(), z.unknown()).describe('Keys of this platform.').default({}),
});
export type PlatformConfig = z.infer<typeof platformSchema>;

const hostedBrowser = z.strictObject({
  cdp_url: z.string().describe('A fixed wss:// address.').meta({ secret: true }).optional(),
  session_url: z.url().describe('A REST call that yields the address; asked again on every reconnect.').optional(),
  session_method: z.enum(['GET', 'POST']).describe('Method of that call.').default('POST'),
  session_headers: z
    .record(z.string(), z.string())
    .describe('Headers of that call.')
    .meta({ secret: true })
    .default({}),
  session_body: z.json().describe('JSON body of that call.').optional(),
  cdp_url_field: z.string().describe('Where the address stands in its answer, with dots.').default('connectUrl'),
});

const browser = z.strictObject({
  dialog_policy: z.enum(DIALOG_POLICIES).describe('What happens when a page opens a dialog.').default('must_respond'),
  dialog_timeout_s: seconds('A dialog nobody answered is dismissed after this.').default(300),
  dialog_bridge: z
    .enum(DIALOG_BRIDGES)
    .describe('Where the dialog bridge is used: `auto` means hosted browsers, and cross-origin frames of local ones.')
    .default('auto'),
  bypass_csp: z
    .boolean()
    .describe('Hosted browsers only: lets the bridge work on pages with a strict policy.')
    .default(false),
  cdp_url: z.string().describe('A running browser: ws://, http:// or a port.').meta({ secret: true }).optional(),
  executable: z.string().describe('The Chromium to start; found on the machine when absent.').optional(),
  args: names('Further command-line flags of that Chromium.').default([]),
  headless: z.boolean().describe('Start it without a window.').default(true),
  allow_private: z
    .boolean()
    .describe('Navigation to private addresses. Absent: allowed in your own chat, refused for webhook runs.')
    .optional(),
  hosted: hostedBrowser.describe('A hosted browser.').optional(),
  rest_url: z.url().describe('A backend that offers REST only: no dialogs, no frames.').optional(),
});

const model = z.strictObject({
  provider: z
    .enum(['demo', 'openai-compatible', 'openai', 'anthropic', 'google'])
    .describe('`demo` answers in process, openly labelled, until a model is chosen.')
    .optional(),
  name: z.string().min(1).describe('Model name as the server knows it.').optional(),
  base_url: z.url().describe('Server address, with or without /v1.').optional(),
  api_key: secret('Key of the server.').optional(),
  api_key_env: z.string().min(1).describe('Environment variable that holds the key.').optional(),
  context_length: z.int().positive().describe('Tokens that fit; asked from the server when absent.').optional(),
  max_tokens: z.int().positive().describe('Longest answer.').default(4096),
});

const mcpServer = z.strictObject({
  command: z.string().min(1).describe('Program of a stdio server.').optional(),
  args: z.array(z.string()).describe('Its arguments.').default([]),
  env: z.record(z.string(), z.string()).describe('Its environment.').meta({ secret: true }).default({}),
  url: z.url().describe('Address of an HTTP server.').optional(),
  headers: z.record(z.string(), z.string()).describe('Headers for it.').meta({ secret: true }).default({}),
  toolsets: names('Toolsets its tools belong to.').default(['core']),
  enabled: z.boolean().default(true),
});

export const configSchema = z.strictObject({
  timezone: z
    .string()
    .refine(isTimeZone, {
      error: 'There is no such time zone',
      params: { help: 'Use a name such as Europe/Berlin or UTC.' },
    })
    .describe('IANA zone of scheduled jobs; the zone of this machine when absent.')
    .optional(),
  model: model.describe('The model of the agent.').default(model.parse({})),
  agent: z
    .strictObject({
      max_steps: z.int().positive().describe('Model calls in one run.').default(50),
      max_tokens: z.int().positive().describe('Tokens of one run, input and output together.').optional(),
      timeout_s: seconds('Time limit of a run that sets none.').default(3600),
      instructions: z.string().describe('Put in front of every conversation.').optional(),
    })
    .describe('Limits of the agent.')
    .prefault({}),
  runs: z
    .strictObject({
      concurrency: z.int().min(0).describe('Runs at the same time; 0 takes events in and runs nothing.').default(4),
      keep_days: z.number().positive().describe('Finished runs older than this are removed.').default(90),
    })
    .describe('The queue of runs.')
    .prefault({}),
  database: z
    .strictObject({
      url: z
        .string()
        .describe('postgres://... for several gateways on one database; absent means svc.db in the home folder.')
        .meta({ secret: true })
        .optional(),
    })
    .describe('Where runs, jobs and events are stored.')
    .prefault({}),
  platforms: z
    .object({
      webhook: z
        .strictObject({
          enabled: z.boolean().describe('Whether webhooks are served.').default(false),
          extra: webhookExtra.describe('Settings of the gateway.').prefault({}),
        })
        .describe('The webhook gateway.')
        .prefault({}),
    })
    .catchall(platformSchema)
    .describe('The webhook gateway and the delivery platforms, by name.')
    .prefault({}),
  delivery: z
    .strictObject({
      concurrency: z.int().min(1).describe('Messages on their way at the same time.').default(16),
      allow_private: z.boolean().describe('Whether the `webhook` target may reach private addresses.').default(false),
    })
    .describe('Outgoing messages.')
    .prefault({}),
  cron: z
    .strictObject({
      script_timeout_s: seconds('Time limit of a job script.').default(120),
      alarm_deliver: z
        .string()
        .describe("Where unmet expectations are reported; the job's own target when absent.")
        .optional(),
    })
    .describe('Scheduled jobs.')
    .prefault({}),
  browser: browser.describe('The browser and its supervisor.').prefault({}),
  terminal: z
    .strictObject({
      sandbox: z
        .enum(['bubblewrap', 'none'])
        .describe('`none` runs commands on this machine as you; untrusted runs never get that.')
        .default('bubblewrap'),
      network: z.boolean().describe('Network inside the sandbox, for your own chat only.').default(false),
      timeout_s: seconds('Time limit of one command.').default(120),
      max_output_bytes: z.int().positive().describe('Output beyond this is cut.').default(65536),
    })
    .describe('The terminal tool.')
    .prefault({}),
  files: z
    .strictObject({ roots: names('Folders that the file tools may use, besides the work folder.').default([]) })
    .describe('The file tools.')
    .prefault({}),
  toolsets: z
    .record(z.string(), names('Tools or toolsets in it.'))
    .describe('Further toolsets, or other contents for a built-in one.')
    .default({}),
  mcp_servers: z.record(z.string(), mcpServer).describe('MCP servers whose tools the agent may use.').default({}),
  log: z
    .strictObject({
      level: z.enum(LOG_LEVELS).default('info').describe('Least level that is written.'),
      max_megabytes: z.number().positive().describe('A log file is rotated beyond this.').default(20),
      keep_files: z.int().min(1).describe('Rotated files that are kept.').default(5),
    })
    .describe('The gateway log.')
    .prefault({}),
});

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

export type Config = z.infer<typeof configSchema>;
export type ConfigInput = z.input<typeof configSchema>;
