import { ESLint } from 'eslint';
import path from 'node:path';
import ts from 'typescript';
import { root } from './gate.ts';

/** Types and lint in one process: the rules need the types that the compiler has worked out. */

/** The pages are apart: they run in a browser. */
const projects = ['.', 'src/dashboard/page', 'src/page'];

const format: ts.FormatDiagnosticsHost = {
  getCanonicalFileName: (name) => name,
  getCurrentDirectory: () => root,
  getNewLine: () => '\n',
};

function readProject(folder: string): ts.ParsedCommandLine {
  const fail = (diagnostic: ts.Diagnostic): never => {
    throw new Error(ts.formatDiagnostic(diagnostic, format));
  };
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail };
  const file = path.join(root, folder, 'tsconfig.json');
  const project = ts.getParsedCommandLineOfConfigFile(file, undefined, host);
  if (project === undefined) throw new Error(`${file} cannot be read`);
  return project;
}

/** Checks all files of a project; the next check reads only what has changed since. */
function checkIncrementally({ fileNames, options, errors }: ts.ParsedCommandLine): ts.Program {
  const host = ts.createIncrementalCompilerHost(options);
  const program = ts.createIncrementalProgram({ rootNames: fileNames, options, host });
  print([
    ...errors,
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...program.getSyntacticDiagnostics(),
    ...program.getSemanticDiagnostics(),
    ...program.emit().diagnostics,
  ]);
  return program.getProgram();
}

/** Checks a page's own files; those it imports are checked with the others. */
function checkPage({ fileNames, options, errors }: ts.ParsedCommandLine): ts.Program {
  const program = ts.createProgram(fileNames, options);
  print([...errors, ...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics()]);
  for (const name of fileNames) {
    const file = program.getSourceFile(name);
    print([...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]);
  }
  return program;
}

function print(diagnostics: ts.Diagnostic[]): void {
  if (diagnostics.length === 0) return;
  process.exitCode = 1;
  console.log(ts.formatDiagnostics(diagnostics, format));
}

process.chdir(root);
const programs = projects.map((folder) => {
  const project = readProject(folder);
  const program = project.options.incremental === true ? checkIncrementally(project) : checkPage(project);
  // ESLint writes its options into the key of its cache.
  return Object.assign(program, { toJSON: () => folder });
});
const eslint = new ESLint({
  cache: true,
  cacheLocation: 'node_modules/.cache/eslint/',
  overrideConfig: [{ languageOptions: { parserOptions: { projectService: false, programs } } }],
});
const results = await eslint.lintFiles(['.']);
const formatter = await eslint.loadFormatter();
const text = await formatter.format(results);
if (text !== '') console.log(text);
if (results.some(({ errorCount, warningCount }) => errorCount + warningCount > 0)) process.exitCode = 1;
