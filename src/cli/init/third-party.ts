import { isLocalModule } from '../../script/python-imports.ts';
import type { ScriptFacts } from '../../script/read-script.ts';

/** Modules that come with Python. */
const standard = new Set(
  '__future__ abc aifc argparse array ast asyncio atexit base64 bdb binascii bisect builtins bz2 calendar cmath cmd code codecs codeop collections colorsys compileall concurrent configparser contextlib contextvars copy copyreg cProfile csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest email encodings enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http imaplib imp importlib inspect io ipaddress itertools json keyword linecache locale logging lzma mailbox marshal math mimetypes mmap multiprocessing netrc numbers operator optparse os pathlib pdb pickle pickletools pkgutil platform plistlib posix pprint profile pstats pty pwd py_compile queue quopri random re readline reprlib resource runpy sched secrets select selectors shelve shlex shutil signal site smtplib socket socketserver sqlite3 ssl stat statistics string stringprep struct subprocess symtable sys sysconfig syslog tarfile tempfile termios textwrap threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle types typing unicodedata unittest urllib uuid venv warnings wave weakref webbrowser winreg xml xmlrpc zipapp zipfile zipimport zlib zoneinfo'.split(
    ' ',
  ),
);

/** The modules that the files import at their start and that neither Python nor the project has. */
export function thirdParty(files: readonly { file: string; facts: ScriptFacts }[]): string[] {
  const own = files.map(({ file }) => file);
  const found = files.flatMap(({ file, facts }) =>
    facts.imports
      .filter((one) => one.when === 'always' && !isLocalModule(one, file, own))
      .map(({ module }) => module.split('.')[0] ?? ''),
  );
  return [...new Set(found)].filter((name) => name !== '' && !standard.has(name)).sort();
}
