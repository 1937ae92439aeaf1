import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { isThere } from '@updraft/base';
import { endWithUs } from '../end-with-us.ts';
import { hangMs } from '../hang-limit.ts';

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
  // Pages that the browser makes parts of its own windows of: one more process for each window of a test.
  '--disable-features=PreloadTopChromeWebUI,WebUIOmniboxPopup,WebUIOmniboxAimPopup,InitialWebUI,WebUIReloadButton',
  // A background page is rarely drawn, and tests share the machine.
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  '--remote-debugging-port=0',
];

/** Where Chromium is; installed if missing and we are root on Debian. Undefined if there is none. */
export async function findChromium(): Promise<string | undefined> {
  const search = async () => {
    for (const folder of (process.env['PATH'] ?? '').split(path.delimiter))
      for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
        const file = path.join(folder, name);
        if (await isThere(file)) return file;
      }
    return undefined;
  };
  const found = await search();
  if (found !== undefined || process.getuid?.() !== 0) return found;
  spawnSync('apt-get', ['install', '-y', '-q', '--no-install-recommends', 'chromium'], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    timeout: hangMs,
  });
  return search();
}

/** Starts a headless browser that leaves nothing behind when it is disposed of. */
export async function startChromium(program: string): Promise<Chromium> {
  await using stack = new AsyncDisposableStack();
  // A short name: the path of its socket has room for 107 characters.
  const profile = await mkdtemp(path.join(os.tmpdir(), 'chrome-'));
  // A separate process group, so that its helpers end with it.
  const child = spawn(program, [...flags, `--user-data-dir=${profile}`, 'about:blank'], {
    // Its socket and its other temporary files go with the profile.
    env: { ...process.env, TMPDIR: profile },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  if (child.pid !== undefined) stack.use(endWithUs({ targets: [-child.pid], folders: [profile] }));
  stack.defer(() => rm(profile, { recursive: true, force: true, maxRetries: 5 }));
  stack.defer(() => end(child));
  const socket = new WebSocket(await debuggerOf(child));
  await once(socket, 'open');
  stack.defer(() => socket.close());
  return new Chromium(socket, stack.move());
}

async function debuggerOf(child: ChildProcess): Promise<string> {
  if (child.stderr === null) throw new Error('Chromium has no stderr');
  for await (const line of createInterface({ input: child.stderr })) {
    const found = /DevTools listening on (ws:\S+)/.exec(line)?.[1];
    if (found === undefined) continue;
    child.stderr.resume();
    return found;
  }
  throw new Error('Chromium exited before its debugger was ready');
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const gone = once(child, 'exit');
  process.kill(-child.pid, 'SIGKILL');
  await gone;
}

type Answer = {
  id?: number;
  result?: unknown;
  error?: { message: string };
  method?: string;
  params?: unknown;
  sessionId?: string;
};

/** A browser, controlled through its debugger. */
export class Chromium {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: Error) => void }
  >();
  readonly #events = new Map<string, ((method: string, params: unknown) => void)[]>();
  readonly #belongings: AsyncDisposable;
  readonly #contexts: string[] = [];
  #next = 0;

  constructor(socket: WebSocket, belongings: AsyncDisposable) {
    this.#socket = socket;
    this.#belongings = belongings;
    socket.addEventListener('message', ({ data }) => this.#take(JSON.parse(String(data)) as Answer));
  }

  #take({ id, result, error, method, params, sessionId = '' }: Answer): void {
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (id !== undefined) this.#waiting.delete(id);
    if (error !== undefined) waiting?.reject(new Error(error.message));
    else waiting?.resolve(result);
    if (method !== undefined)
      for (const onEvent of this.#events.get(sessionId) ?? []) onEvent(method, params);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#belongings[Symbol.asyncDispose]();
  }

  send(method: string, params: object = {}, sessionId?: string): Promise<unknown> {
    const id = (this.#next += 1);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#socket.send(JSON.stringify({ id, method, params, sessionId }));
    });
  }

  /** Closes all tabs, and deletes their storage. */
  async closeTabs(): Promise<void> {
    for (const browserContextId of this.#contexts.splice(0))
      await this.send('Target.disposeBrowserContext', { browserContextId });
  }

  /** Opens a tab of a given size, with its own cookies. */
  async open(width = 1280, height = 900): Promise<Tab> {
    const { browserContextId } = (await this.send('Target.createBrowserContext')) as {
      browserContextId: string;
    };
    this.#contexts.push(browserContextId);
    const { targetId } = (await this.send('Target.createTarget', {
      url: 'about:blank',
      browserContextId,
    })) as {
      targetId: string;
    };
    const { sessionId } = (await this.send('Target.attachToTarget', { targetId, flatten: true })) as {
      sessionId: string;
    };
    const tab = new Tab((method, params) => this.send(method, params, sessionId));
    this.#events.set(sessionId, [(method, params) => tab.onEvent(method, params)]);
    for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await tab.send(`${domain}.enable`);
    await tab.resize(width, height);
    return tab;
  }
}

/** One tab: what a person would see and do in it. */
export class Tab {
  readonly send: (method: string, params?: object) => Promise<unknown>;
  /** Script errors and violations of the content security policy: there must be none. */
  readonly errors: string[] = [];
  /** Every URL the page requested. */
  readonly requests: string[] = [];
  /** Server-sent events, in order. */
  readonly console: string[] = [];

  constructor(send: Tab['send']) {
    this.send = send;
  }

  onEvent(method: string, params: unknown): void {
    if (method === 'Runtime.exceptionThrown') this.errors.push(JSON.stringify(params));
    if (method === 'Log.entryAdded') {
      const { entry } = params as { entry: { level: string; text: string; url?: string } };
      if (entry.level === 'error' && !(entry.url ?? '').endsWith('/favicon.ico'))
        this.errors.push(entry.text);
    }
    if (method === 'Network.eventSourceMessageReceived') this.console.push((params as { data: string }).data);
    if (method === 'Network.requestWillBeSent')
      this.requests.push((params as { request: { url: string } }).request.url);
  }

  async resize(width: number, height: number): Promise<void> {
    const mobile = width < 600;
    await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile });
  }

  /** Emulates user preferences such as `dark` or `reduce`. */
  async prefer(features: Record<string, string>, media = ''): Promise<void> {
    const list = Object.entries(features).map(([name, value]) => ({ name: `prefers-${name}`, value }));
    await this.send('Emulation.setEmulatedMedia', { media, features: list });
  }

  async go(url: string): Promise<void> {
    await this.send('Page.navigate', { url });
  }

  /** The value of an expression in the page. */
  async read<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = (await this.send('Runtime.evaluate', {
      expression,
      returnByValue: true,
      awaitPromise: true,
    })) as {
      result: { value: T };
      exceptionDetails?: { text: string; exception?: { description?: string } };
    };
    if (exceptionDetails !== undefined)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Waits until an expression in the page is true; starts over on every new page. */
  async until(expression: string): Promise<void> {
    const deadline = performance.now() + hangMs;
    for (;;) {
      const isSo = await this.read<boolean>(`Boolean(${expression})`).catch(() => false);
      if (isSo) return;
      if (performance.now() > deadline)
        throw new Error(`never true: ${expression}\nthe page says: ${await this.text('body')}`);
      await this.read('new Promise((resolve) => setTimeout(resolve, 25))').catch(() => undefined);
    }
  }

  /** Waits for visible text in an element. */
  async untilText(selector: string, words: string): Promise<void> {
    const element = `document.querySelector(${JSON.stringify(selector)})`;
    await this.until(`${element}?.innerText.includes(${JSON.stringify(words)})`);
  }

  text(selector: string): Promise<string> {
    return this.read<string>(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? ''`);
  }

  /**
   * Clicks the middle of an element with the mouse; repeats it, as a person would, if the page was redrawn meanwhile
   * and something else was hit.
   */
  async click(selector: string): Promise<void> {
    const named = JSON.stringify(selector);
    for (let tries = 0; tries < 20; tries++) {
      const place = await this.read<{ x: number; y: number }>(`(() => {
        const element = document.querySelector(${named});
        element.scrollIntoView({ block: 'center', behavior: 'instant' });
        window.wasHit = false;
        const onClick = (event) => (window.wasHit = event.target.closest(${named}) !== null);
        document.addEventListener('click', onClick, { capture: true, once: true });
        const box = element.getBoundingClientRect();
        return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
      })()`);
      for (const type of ['mousePressed', 'mouseReleased'])
        await this.send('Input.dispatchMouseEvent', { type, ...place, button: 'left', clickCount: 1 });
      // A click that opens another page has hit.
      if (await this.read<boolean>('window.wasHit ?? true').catch(() => true)) return;
    }
    throw new Error(`${selector} was never hit`);
  }

  async type(text: string): Promise<void> {
    await this.send('Input.insertText', { text });
  }

  async press(key: string): Promise<void> {
    const code = { Tab: 9, Enter: 13, Escape: 27, End: 35, Home: 36, PageDown: 34 }[key] ?? 0;
    const text = key === 'Enter' ? { text: '\r' } : {};
    await this.send('Input.dispatchKeyEvent', {
      type: 'keyDown',
      key,
      code: key,
      windowsVirtualKeyCode: code,
      ...text,
    });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', key, code: key, windowsVirtualKeyCode: code });
  }

  /** A screenshot of the entire page, as PNG. */
  async picture(full = true): Promise<Buffer> {
    const { data } = (await this.send('Page.captureScreenshot', { captureBeyondViewport: full })) as {
      data: string;
    };
    return Buffer.from(data, 'base64');
  }
}
