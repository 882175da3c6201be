// The version of the package, kept in the source so that asking for it reads no file. A test compares package.json.

export const VERSION = '0.1.0';
