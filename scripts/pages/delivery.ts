// docs/delivery.md: every target with its settings, environment variables, limits, markup and an example.

import { stringify } from 'yaml';
import { jsonSchemaOf, type SchemaNode } from '../../src/config/schema-walk.ts';
import { formatAddress } from '../../src/core/address.ts';
import { spellingsOf } from '../../src/core/names.ts';
import { targets } from '../../src/delivery/registry.ts';
import { platformKey, type Target } from '../../src/delivery/target.ts';
import { RETRY_WAITS_MS } from '../../src/outbox/retry.ts';

const UNITS = { utf16: 'UTF-16 units', code_points: 'characters', bytes: 'bytes' } as const;
const MARKUPS: Readonly<Record<Target['markup'], string>> = {
  plain: 'none; Markdown becomes plain text',
  gfm: 'Markdown as it is',
  markdown: 'Markdown; tables become code blocks',
  html: 'HTML',
  telegram_html: "Telegram's HTML tags",
  mrkdwn: 'mrkdwn',
  whatsapp: "WhatsApp's marks",
};

export async function deliveryPage(): Promise<string> {
  return [...introduction(), ...overview(), ...targets.flatMap(section), ''].join('\n');
}

function introduction(): string[] {
  const waits = RETRY_WAITS_MS.map(duration).join(', ');
  return [
    '<!-- Generated from src/delivery by `npm run docs`. -->',
    '# Delivery',
    '',
    'A message goes to an address: `target`, `target:chat` or `target:chat:thread`; several are separated by commas. Without',
    'a chat the home channel of the platform is used. Routes may give `chat_id`, `thread_id` (also `message_thread_id`) and',
    'the further keys below in `deliver_extra`. Jobs also know `origin`, the chat in which the job was made.',
    '',
    'Answers of runs are stored before they are sent, in order per chat, and tried again after failures:',
    `${waits} later, then the message is dead. \`svc deliveries list --state dead\` shows those, \`svc deliveries`,
    'retry` sends them again. What the platform refuses is dead at once. A platform that asks for a longer wait gets it; one',
    'that does not answer is left alone for a while. When no answer came, the message is sent again and marked uncertain:',
    'it arrives at least once, and exactly once where the table names a key by which the platform knows a repeated message.',
    '',
    'Set a platform up with `svc platforms setup <name>`, or in `config.yaml` under `platforms.<name>`: `enabled`, `token`,',
    '`home_channel` (`chat_id`, `thread_id`, `name`) and `extra` with the keys below. Secrets belong into the environment or',
    'into `.env` in the home folder. `svc platforms check` asks every enabled platform whether it knows us.',
  ];
}

function overview(): string[] {
  return [
    '',
    '| target | other names | longest message | markup | repeated messages |',
    '|---|---|---|---|---|',
    ...targets.map((target) => {
      const others = spellingsOf(target.name).slice(1).map(code).join(', ');
      const repeated = target.idempotency ? `recognised by ${target.idempotency}` : 'shown again';
      return `| [${target.name}](#${target.name}) | ${others} | ${limitOf(target)} | ${MARKUPS[target.markup]} | ${repeated} |`;
    }),
  ];
}

function section(target: Target): string[] {
  const { chat, thread, token } = target;
  const facts = [
    ...(target.builtIn ? ['Works without settings.'] : []),
    ...(token ? [`\`token\`: ${token.about}${token.optional ? ' Optional.' : ''}`] : []),
    ...(chat ? [`Chat: ${chat.about}, e.g. \`${chat.example}\`.${chat.optional ? ' Optional.' : ''}`] : []),
    ...(thread ? [`Thread: ${thread.about}, e.g. \`${thread.example}\`.`] : []),
  ];
  return [
    '',
    `## ${target.name}`,
    '',
    `${target.title}.`,
    ...(facts.length > 0 ? ['', ...facts.map((fact) => `- ${fact}`)] : []),
    ...keysTable(`Keys of \`platforms.${platformKey(target)}.extra\``, jsonSchemaOf(target.settings)),
    ...keysTable('Further keys of `deliver_extra`', jsonSchemaOf(target.extra)),
    ...environment(target),
    ...example(target),
  ];
}

function keysTable(title: string, schema: SchemaNode): string[] {
  const keys = Object.entries(schema.properties ?? {});
  if (keys.length === 0) return [];
  const rows = keys.map(([key, node]) => {
    const standard =
      node.default === undefined ? (schema.required?.includes(key) ? 'required' : '') : code(String(node.default));
    return `| \`${key}\` | ${standard} | ${node.description ?? ''} |`;
  });
  return ['', `${title}:`, '', '| key | default | meaning |', '|---|---|---|', ...rows];
}

function environment(target: Target): string[] {
  const names = Object.entries(target.env);
  if (names.length === 0) return [];
  return ['', `Environment: ${names.map(([name, key]) => `\`${name}\` sets \`${key}\``).join(', ')}.`];
}

function example(target: Target): string[] {
  const { chat, thread, token } = target;
  const address = formatAddress({
    target: target.name,
    ...(chat && (!chat.optional || thread) ? { chatId: chat.example } : {}),
    ...(chat && thread ? { threadId: thread.example } : {}),
  });
  const variable = Object.entries(target.env).find(([, key]) => key === 'token')?.[0];
  const schema = jsonSchemaOf(target.settings);
  const required = Object.fromEntries(
    (schema.required ?? []).map((key) => [key, EXAMPLES[`${target.name}.${key}`] ?? EXAMPLES[key] ?? '...']),
  );
  const settings = {
    platforms: {
      [platformKey(target)]: {
        enabled: true,
        ...(token && variable ? { token: `\${${variable}}` } : {}),
        ...(chat && !chat.optional ? { home_channel: { chat_id: chat.example } } : {}),
        ...(Object.keys(required).length > 0 ? { extra: required } : {}),
      },
    },
  };
  return [
    ...(target.builtIn ? [] : ['', '```yaml', stringify(settings).trimEnd(), '```']),
    '',
    '```sh',
    `svc deliver '${address}' "**Backup** is done"`,
    '```',
  ];
}

/** Values for keys that have no default. */
const EXAMPLES: Readonly<Record<string, string>> = {
  base_url: 'https://chat.example.org',
  account: '+4915112345678',
  account_sid: 'AC0123456789abcdef',
  from: '+15005550006',
  'email.from': 'Svc <svc@example.org>',
  host: 'smtp.example.org',
  phone_number_id: '106540352242922',
  app_id: 'cli_a1b2c3',
};

function limitOf({ limit: { count, unit } }: Target): string {
  return count === Number.MAX_SAFE_INTEGER ? 'none' : `${count.toLocaleString('en')} ${UNITS[unit]}`;
}

const code = (text: string): string => `\`${text}\``;

function duration(ms: number): string {
  if (ms < 60_000) return `${ms / 1000} s`;
  return ms < 3_600_000 ? `${ms / 60_000} min` : `${ms / 3_600_000} h`;
}
