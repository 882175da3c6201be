// The one table of stand-in names. Nothing else knows that a vendor has two spellings.

const TARGET_ALIASES: Readonly<Record<string, string>> = {
  hosta_comment: 'github_comment',
  hostb_comment: 'gitlab_comment',
  messenger_1: 'telegram',
  messenger_2: 'discord',
  messenger_3: 'slack',
  messenger_4: 'signal',
  messenger_5: 'whatsapp',
  messenger_6: 'matrix',
  messenger_7: 'mattermost',
  home_automation: 'homeassistant',
  messenger_8: 'dingtalk',
  messenger_9: 'feishu',
  lark: 'feishu',
  messenger_10: 'wecom',
  messenger_11: 'weixin',
  messenger_12: 'bluebubbles',
  messenger_13: 'qqbot',
};

const HEADER_ALIASES: Readonly<Record<string, string>> = {
  'x-hosta-event': 'x-github-event',
  'x-hosta-delivery': 'x-github-delivery',
  'x-hostb-event': 'x-gitlab-event',
  'x-hostb-token': 'x-gitlab-token',
};

export const SCHEME_ALIASES = { hosta: 'github', hostb: 'gitlab' } as const;

const HEADER_STAND_INS = new Map(Object.entries(HEADER_ALIASES).map(([alias, canonical]) => [canonical, alias]));

/** The name the code uses for a delivery target or platform, whatever the user wrote. */
export const canonicalTarget = (name: string): string => TARGET_ALIASES[name] ?? name;

/** Every accepted spelling of a canonical target name, the canonical one first. */
export function spellingsOf(canonical: string): string[] {
  return [canonical, ...Object.keys(TARGET_ALIASES).filter((alias) => TARGET_ALIASES[alias] === canonical)];
}

/**
 * Other spellings of an environment variable of a target: its first word is the vendor (`TELEGRAM_BOT_TOKEN` is also
 * `MESSENGER_1_BOT_TOKEN`).
 */
export function variableAliases(canonical: string, variable: string): string[] {
  const rest = variable.slice(variable.indexOf('_'));
  const [, ...aliases] = spellingsOf(canonical);
  return aliases.map((alias) => `${alias.replace(/_comment$/, '').toUpperCase()}${rest}`);
}

/** The name the code uses for a signature scheme, whatever the user wrote. */
export const canonicalScheme = (name: string): string =>
  name === 'hosta' || name === 'hostb' ? SCHEME_ALIASES[name] : name;

/** The name the code uses for a request header (lower case), whatever the sender wrote. */
export const canonicalHeader = (name: string): string => HEADER_ALIASES[name] ?? name;

/** The value of a request header (canonical name, lower case) under either spelling; one that says something wins. */
export function headerValue(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  canonical: string,
): string | undefined {
  const own = headers[canonical];
  const standIn = HEADER_STAND_INS.get(canonical);
  const value = own || (standIn === undefined ? undefined : headers[standIn]) || own;
  return Array.isArray(value) ? value.join(', ') : value;
}
