import { after, type TestContext } from 'node:test';
import { findChromium, startChromium, type Chromium } from './chromium.ts';

let shared: Promise<Chromium> | undefined;
after(async () => (await shared)?.[Symbol.asyncDispose]());

/**
 * The browser of a file of tests, which takes longer to start than a test to run; the test's tabs are closed with it.
 * Skips the test by name where there is none.
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
