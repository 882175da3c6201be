// Waits for something to become true, with a deadline that is only there to end a broken test.

export async function until<T>(look: () => Promise<T | undefined | false> | T | undefined | false): Promise<T> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`Waited in vain for: ${look}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
