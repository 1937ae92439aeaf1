import { after, type TestContext } from 'node:test';
import { findChromium, startChromium, type Chromium } from './chromium.ts';

let shared: Promise<Chromium> | undefined;
after(async () => (await shared)?.[Symbol.asyncDispose]());

/**
 * The browser shared by the tests of a file, because it starts slowly; closes the test's tabs when the test ends.
 * Skips the test if there is no browser.
 */
export async function openChromium(t: TestContext): Promise<Chromium | undefined> {
  const program = await findChromium();
  if (program === undefined) {
    t.skip('no Chromium on this machine (Debian package: chromium)');
    return undefined;
  }
  const browser = await (shared ??= startChromium(program));
  t.after(() => browser.closeTabs());
  return browser;
}
