// Changes one key of config.yaml and leaves comments, order and everything else as they are.

import { type Document, isCollection, isMap, isScalar, parseDocument } from 'yaml';
import { canonicalTarget } from '../core/names.ts';
import { configJsonSchema, nodeAt, type SchemaNode } from './schema-walk.ts';

/** `platforms.webhook.extra.port` as its steps. A key that itself holds a dot is written in quotes: `routes."a.b".deliver`. */
export function splitKey(key: string): string[] | undefined {
  const parts = [...key.matchAll(/(?:^|\.)(?:"([^"]+)"|([^."]+))/g)];
  const steps = parts.map((part) => part[1] ?? part[2] ?? '');
  return parts.map((part) => part[0]).join('') === key && /^[^.]/.test(key) ? steps : undefined;
}

/** The value as the schema wants it at this place: text stays text, numbers, booleans, lists and groups are read as YAML. */
export function readValue(path: readonly string[], text: string): unknown {
  const node = nodeAt(configJsonSchema(), path);
  const types = node === undefined ? [] : typesOf(node);
  if (types.length > 0 && types.every((type) => type === 'string')) return text;
  const document = parseDocument(text);
  if (document.errors.length > 0) return text;
  const value: unknown = document.toJS();
  // `123:abc`, `-100200300`: where text is allowed, what was typed is kept to the letter.
  return types.includes('string') && (typeof value !== 'object' || value === null) ? text : value;
}

/** The new text of the file; `undefined` removes the key. Only the YAML is looked at: the caller checks the meaning. */
export function editConfig(text: string, key: readonly string[], value: unknown): string {
  const document: Document = parseDocument(text);
  // Nothing sensible can be done to a broken file; the check of the unchanged text says where it is broken.
  if (document.errors.length > 0) return text;
  const path = asSpelled(document, key);
  if (value === undefined) {
    if (document.hasIn(path)) document.deleteIn(path);
  } else {
    // A key with nothing under it (`model:`) holds null and must become a group before something can stand in it.
    for (let depth = 0; depth < path.length; depth += 1) {
      const above = path.slice(0, depth);
      const node = depth === 0 ? document.contents : document.getIn(above, true);
      if (isMap(node) || (isCollection(node) && depth > 0)) continue;
      if (depth === 0) document.contents = document.createNode({}) as typeof document.contents;
      else document.setIn(above, document.createNode({}));
    }
    // A plain value replaces a plain value in place and keeps the comment behind it.
    document.setIn(path, typeof value === 'object' ? document.createNode(value) : value);
  }
  return document.toString({ lineWidth: 0 });
}

/** A platform that stands in the file under its other name is the same platform. */
function asSpelled(document: Document, path: readonly string[]): readonly string[] {
  const [group, name, ...rest] = path;
  const platforms = group === 'platforms' && name !== undefined ? document.get(group) : undefined;
  if (name === undefined || !isMap(platforms) || platforms.has(name)) return path;
  const names = platforms.items.map((item) => (isScalar(item.key) ? String(item.key.value) : ''));
  const there = names.find((one) => canonicalTarget(one) === canonicalTarget(name));
  return there === undefined ? path : ['platforms', there, ...rest];
}

function typesOf(node: SchemaNode): string[] {
  return node.anyOf === undefined ? [node.type ?? 'unknown'] : node.anyOf.flatMap(typesOf);
}
