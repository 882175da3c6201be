// What the schema found, in words for a person. Values are never repeated: they may be secrets.

import type { z } from 'zod';

type Issue = z.core.$ZodIssue;

const WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a group of keys',
  record: 'a group of keys',
  undefined: 'nothing',
  null: 'nothing',
};

/** Both in one line, with the place, for messages that have no list of problems around them. */
export function issueSentence(issue: Issue, whole: unknown): string {
  const { message, help } = issueText(issue, valueAt(whole, issue.path));
  const place = issue.path.map(String).join('.');
  return [place === '' ? '' : `${place}:`, message, help].filter(Boolean).join(' ');
}

/** `message` says what is wrong, `help` what to do. */
export function issueText(issue: Issue, value: unknown): { message: string; help: string } {
  switch (issue.code) {
    case 'invalid_type':
      return wrongType(expectedWord(issue.expected), value);
    case 'invalid_value': {
      const allowed = issue.values.map((item) => `\`${String(item)}\``).join(', ');
      return { message: 'This value is not one of the allowed ones.', help: `Use one of: ${allowed}.` };
    }
    case 'too_small':
      return tooSmall(issue);
    case 'too_big':
      return { message: `It is more than ${String(issue.maximum)}.`, help: `Use at most ${String(issue.maximum)}.` };
    case 'invalid_format':
      return issue.format === 'url'
        ? { message: 'This is not a URL.', help: 'Write it with its scheme, e.g. http://localhost:11434.' }
        : { message: `This is not in the form ${issue.format}.`, help: 'See docs/configuration.md.' };
    case 'invalid_union':
      return unionText(issue, value);
    case 'unrecognized_keys':
      return { message: `There is no key \`${issue.keys.join('`, `')}\` here.`, help: 'Remove it.' };
    case 'custom':
      return { message: `${issue.message}.`, help: String(issue.params?.help ?? 'See docs/configuration.md.') };
    default:
      return { message: `${issue.message}.`, help: 'See docs/configuration.md.' };
  }
}

function wrongType(expected: string, value: unknown): { message: string; help: string } {
  if (value === undefined) return { message: 'This key is missing.', help: `Add it; it is ${expected}.` };
  const quoted = typeof value === 'string' && expected !== 'text' ? ', without quotes' : '';
  return { message: `Here stands ${wordFor(value)}, but it must be ${expected}.`, help: `Write ${expected}${quoted}.` };
}

function tooSmall(issue: Extract<Issue, { code: 'too_small' }>): { message: string; help: string } {
  if (issue.origin === 'string' || issue.origin === 'array') {
    return { message: 'This is empty.', help: 'Give it a value, or remove the key.' };
  }
  const bound = issue.inclusive === false ? `more than ${String(issue.minimum)}` : `at least ${String(issue.minimum)}`;
  return { message: `It must be ${bound}.`, help: `Use a number that is ${bound}.` };
}

/** A union of plain types is told as "a or b"; a union of shapes is left to the documentation. */
function unionText(
  issue: Extract<Issue, { code: 'invalid_union' }>,
  value: unknown,
): { message: string; help: string } {
  const plain = issue.errors.map((branch) => branch.find((inner) => inner.path.length === 0));
  if (plain.every((inner) => inner?.code === 'invalid_type')) {
    const expected = plain.flatMap((inner) => (inner?.code === 'invalid_type' ? [expectedWord(inner.expected)] : []));
    return wrongType([...new Set(expected)].join(' or '), value);
  }
  const closest = issue.errors
    .flat()
    .find((inner) => inner.path.length === 0 && inner.code !== 'invalid_type' && inner.code !== 'invalid_union');
  if (closest !== undefined && closest.code !== 'unrecognized_keys') return issueText(closest, value);
  return { message: 'This has none of the forms it may have.', help: 'docs/configuration.md shows them.' };
}

function valueAt(whole: unknown, path: readonly PropertyKey[]): unknown {
  let value: unknown = whole;
  for (const step of path) value = typeof value === 'object' && value !== null ? Reflect.get(value, step) : undefined;
  return value;
}

const expectedWord = (expected: string): string => WORDS[expected] ?? expected;

function wordFor(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  return expectedWord(typeof value);
}
