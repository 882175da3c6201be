// What was piped in.

/** All of it as text, without the newline at its end. */
export async function readStandardInput(stdin: NodeJS.ReadStream): Promise<string> {
  let text = '';
  for await (const chunk of stdin.setEncoding('utf8')) text += chunk;
  return text.replace(/\r?\n$/, '');
}
