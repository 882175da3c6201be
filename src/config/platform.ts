// What a delivery platform tells the settings about itself. The platforms hand these in; this floor knows none by name.

import type { z } from 'zod';

export interface PlatformDescription {
  /** Canonical name; core/names.ts knows the other spellings. */
  name: string;
  /** Schema of `platforms.<name>.extra`; absent means that the platform has no keys of its own. */
  extra?: z.ZodType;
  /** Environment variables that the platform's users know, to the key they set: `token`, `extra.account_sid`, ... */
  env?: Readonly<Record<string, string>>;
}
