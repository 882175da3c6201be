// WhatsApp's marks: one star is bold, links are only recognised bare.

import type { Dialect } from '../dialect.ts';
import { plain } from './plain.ts';

export const whatsapp: Dialect = {
  ...plain,
  strong: (inner) => `*${inner}*`,
  emphasis: (inner) => `_${inner}_`,
  strike: (inner) => `~${inner}~`,
  code: (raw) => `\`${raw}\``,
  codeBlock: (raw) => `\`\`\`${raw}\`\`\``,
  heading: (inner) => `*${inner.replaceAll('*', '')}*`,
  listItem: (inner, marker, depth) => `${'  '.repeat(depth)}${marker === '•' ? '-' : marker} ${inner}`,
};
