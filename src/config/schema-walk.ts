// Questions about the schema that are easier to ask its JSON form: which keys exist at a place, which values are secret.

import { z } from 'zod';
import { configSchema } from './schema.ts';

/** The part of a JSON schema that this house produces. */
export interface SchemaNode {
  type?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  secret?: boolean;
  properties?: Record<string, SchemaNode>;
  required?: string[];
  additionalProperties?: SchemaNode | boolean;
  items?: SchemaNode;
  anyOf?: SchemaNode[];
  $ref?: string;
  $defs?: Record<string, SchemaNode>;
  [keyword: string]: unknown;
}

export type Path = readonly (string | number)[];

export function jsonSchemaOf(schema: z.ZodType): SchemaNode {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as SchemaNode;
}

let wholeSchema: SchemaNode | undefined;
export function configJsonSchema(): SchemaNode {
  wholeSchema ??= jsonSchemaOf(configSchema);
  return wholeSchema;
}

/** The description of one place, or undefined when the schema knows no such key. */
export function nodeAt(root: SchemaNode, path: Path): SchemaNode | undefined {
  let nodes: SchemaNode[] = [root];
  for (const step of path) {
    nodes = nodes.flatMap(variantsOf).flatMap((node) => {
      const child = childOf(node, step);
      return child === undefined ? [] : [child];
    });
  }
  return nodes[0];
}

/** The keys that may stand at a place. */
export function keysAt(root: SchemaNode, path: Path): string[] {
  const node = nodeAt(root, path);
  return node === undefined ? [] : variantsOf(node).flatMap((variant) => Object.keys(variant.properties ?? {}));
}

/** Every string that stands at a place marked as secret. */
export function secretStrings(node: SchemaNode, value: unknown): string[] {
  const found: string[] = [];
  visitSecrets(node, value, (secret) => {
    found.push(...stringsIn(secret));
    return secret;
  });
  return found;
}

/** The same value with every secret replaced. */
export function maskSecrets(node: SchemaNode, value: unknown, mask: string): unknown {
  return visitSecrets(node, value, (secret) => mapStrings(secret, () => mask));
}

function visitSecrets(node: SchemaNode, value: unknown, onSecret: (value: unknown) => unknown): unknown {
  const variants = variantsOf(node);
  if (variants.some((variant) => variant.secret === true)) return onSecret(value);
  if (Array.isArray(value)) {
    const items = variants.find((variant) => variant.items !== undefined)?.items ?? {};
    return value.map((item) => visitSecrets(items, item, onSecret));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const child = variants.map((variant) => childOf(variant, key)).find((found) => found !== undefined);
      return [key, child === undefined ? item : visitSecrets(child, item, onSecret)];
    }),
  );
}

/** The node itself and what it may be instead; references to recursive parts (`filters`) hold no secrets and end here. */
function variantsOf(node: SchemaNode): SchemaNode[] {
  return [node, ...(node.anyOf ?? []).flatMap(variantsOf)];
}

function childOf(node: SchemaNode, step: string | number): SchemaNode | undefined {
  if (typeof step === 'number') return node.items;
  const named =
    node.properties !== undefined && Object.hasOwn(node.properties, step) ? node.properties[step] : undefined;
  if (named !== undefined) return named;
  return typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined;
}

const stringsIn = (value: unknown): string[] => {
  const found: string[] = [];
  mapStrings(value, (text) => {
    found.push(text);
    return text;
  });
  return found;
};

function mapStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapStrings(item, change)]));
}
