// docs/configuration.md and config.schema.json, read off the schema and the platforms' own keys.

import { ENVIRONMENT_SETTINGS } from '../../src/config/environment.ts';
import { configJsonSchema, jsonSchemaOf, type SchemaNode } from '../../src/config/schema-walk.ts';
import { spellingsOf } from '../../src/core/names.ts';
import { platformDescriptions } from '../../src/delivery/platforms.ts';

export async function configSchemaFile(): Promise<string> {
  const schema = structuredClone(configJsonSchema());
  const platforms = schema.properties?.platforms;
  const generic = platforms?.additionalProperties;
  if (platforms?.properties !== undefined && typeof generic === 'object') {
    for (const { name, extra } of platformDescriptions) {
      const { $schema: _, ...keys } = extra === undefined ? {} : jsonSchemaOf(extra);
      platforms.properties[name] = { ...generic, properties: { ...generic.properties, extra: keys } };
    }
  }
  return `${JSON.stringify({ ...schema, title: 'config.yaml of svc' }, null, 2)}\n`;
}

export async function configurationPage(): Promise<string> {
  const schema = configJsonSchema();
  const sections = Object.entries(schema.properties ?? {});
  const plain = sections.filter(([, node]) => !isGroup(node));
  const groups = sections.filter(([, node]) => isGroup(node) || hasGroups(node));
  return [
    '<!-- Generated from src/config/schema.ts by `npm run docs`. -->',
    '# Configuration',
    '',
    INTRODUCTION,
    '',
    '## Environment variables',
    '',
    '| Variable | Key |',
    '|---|---|',
    ...ENVIRONMENT_SETTINGS.map(({ name, path }) => `| \`${name}\` | \`${path.join('.')}\` |`),
    ...platformDescriptions.flatMap(({ name, env }) =>
      Object.entries(env ?? {}).map(([variable, key]) => `| \`${variable}\` | \`platforms.${name}.${key}\` |`),
    ),
    '',
    '## Top level',
    '',
    ...table(plain.map(([key, node]) => row(key, node))),
    ...groups.flatMap(([key, node]) => nestedSection(key, node)),
    ...platformDescriptions.flatMap(platformSection),
  ].join('\n');
}

const INTRODUCTION = `Everything is optional. \`svc config path\` prints where \`config.yaml\` is (\`~/.svc/config.yaml\`, or in the folder that
\`SVC_HOME\` names), \`svc config check\` lists all mistakes with their lines, \`svc config set <key> <value>\` changes one key and
keeps your comments. For completion in an editor, put this first line into the file:

\`\`\`yaml
# yaml-language-server: $schema=<where svc is installed>/config.schema.json
\`\`\`

Later ones win: defaults, \`config.yaml\`, \`<home>/.env\`, the environment. In any string of \`config.yaml\`, \`\${NAME}\` (upper case)
stands for that variable of the environment or of \`.env\`, and \`$\${NAME}\` for the text \`\${NAME}\`. Unknown keys are errors.
Keys marked *secret* are masked in \`svc config show\` and never logged.`;

function section(path: string, node: SchemaNode): string[] {
  const keys = Object.entries(node.properties ?? {});
  const nested = [...keys, ...namedChildren(node)].filter(([, child]) => isGroup(child) || hasGroups(child));
  const lines = ['', `## \`${path}\``, '', ...(node.description === undefined ? [] : [node.description, ''])];
  if (keys.length > 0) lines.push(...table(keys.map(([key, child]) => row(`${path}.${key}`, child))));
  return [...lines, ...nested.flatMap(([key, child]) => nestedSection(`${path}.${key}`, child))];
}

function nestedSection(path: string, node: SchemaNode): string[] {
  if (isGroup(node)) return section(path, node);
  return namedChildren(node).flatMap(([key, child]) => section(`${path}.${key}`, child));
}

function platformSection({ name, extra }: (typeof platformDescriptions)[number]): string[] {
  const [, ...others] = spellingsOf(name);
  const keys = extra === undefined ? [] : Object.entries(jsonSchemaOf(extra).properties ?? {});
  return [
    '',
    `## \`platforms.${name}.extra\``,
    '',
    ...(others.length === 0 ? [] : [`Also written ${others.map((other) => `\`platforms.${other}\``).join(', ')}.`, '']),
    ...(keys.length === 0
      ? ['No keys of its own.']
      : table(keys.map(([key, node]) => row(`platforms.${name}.extra.${key}`, node)))),
  ];
}

/** A map from names that the user chooses: `routes.<name>`. */
function namedChildren(node: SchemaNode): [string, SchemaNode][] {
  return typeof node.additionalProperties === 'object' && isGroup(node.additionalProperties)
    ? [['<name>', node.additionalProperties]]
    : [];
}

const isGroup = (node: SchemaNode): boolean => node.properties !== undefined;
const hasGroups = (node: SchemaNode): boolean => namedChildren(node).length > 0;

const table = (rows: string[]): string[] => ['| Key | Type | Default | Meaning |', '|---|---|---|---|', ...rows];

function row(path: string, node: SchemaNode): string {
  const meaning = [node.description ?? '', node.secret === true ? '*Secret.*' : '']
    .filter((text) => text !== '')
    .join(' ');
  const shown =
    isGroup(node) || node.default === undefined || hasGroups(node) ? '' : `\`${JSON.stringify(node.default)}\``;
  return `| \`${path}\` | ${typeText(node)} | ${shown} | ${meaning.replaceAll('|', '\\|')} |`;
}

function typeText(node: SchemaNode): string {
  if (node.enum !== undefined) return node.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (node.const !== undefined) return `\`${String(node.const)}\``;
  if (node.$ref !== undefined) return 'see above';
  if (node.anyOf !== undefined) return [...new Set(node.anyOf.map(typeText))].slice(0, 3).join(' or ');
  if (node.type === 'array') return `list of ${typeText(node.items ?? {})}`;
  if (node.type === 'object') return isGroup(node) ? 'keys' : 'map';
  const words: Record<string, string> = {
    string: 'text',
    integer: 'whole number',
    number: 'number',
    boolean: 'true or false',
  };
  return words[node.type ?? ''] ?? 'any value';
}
