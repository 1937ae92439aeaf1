import type { SourceLine } from '../base/finding.ts';
import type { InlineDescription, NodeType, ScriptTime } from './dag-command.ts';
import type { DagGraph } from './graph.ts';

/** A node with everything that commands of the DAG say of it. */
export interface DagNode {
  /** Its number in the graph. */
  index: number;
  /** As DAGMan and the logs name it: a node of a splice has the splice's name before it, as in `S+A`. */
  name: string;
  type: NodeType;
  /** The submit file as written, or the file of the inner DAG; empty for an inline description. */
  submit: string;
  inline: InlineDescription | undefined;
  /** Where its submit file is read and its scripts run, relative to the DAG's folder. */
  folder: string;
  noop: boolean;
  done: boolean;
  /** By name; the last VARS command wins. */
  vars: Map<string, DagVariable>;
  scripts: Map<ScriptTime, DagScript>;
  retries: number;
  category: string | undefined;
  place: SourceLine;
}

export interface DagVariable {
  name: string;
  value: string;
  /** Set after the submit file's own lines, not before them. */
  append: boolean;
  place: SourceLine;
}

export interface DagScript {
  command: string;
  place: SourceLine;
}

export type DagProblemKind =
  | 'syntax'
  | 'unknown-node'
  | 'duplicate-node'
  | 'misused-node'
  | 'missing-file'
  | 'recursion'
  | 'script-replaced'
  | 'rejected'
  | 'too-big';

/** Something that DAGMan refuses or warns of while it reads a DAG. */
export interface DagProblem {
  kind: DagProblemKind;
  message: string;
  fix: string;
  place: SourceLine;
}

/** A DAG as DAGMan reads it, with its splices and included files. */
export interface Dag {
  file: string;
  nodes: DagNode[];
  byName: ReadonlyMap<string, DagNode>;
  byIndex: ReadonlyMap<number, DagNode>;
  graph: DagGraph;
  /** By name; nodes refer to them instead of a submit file. */
  descriptions: ReadonlyMap<string, InlineDescription>;
  /** Limits of categories. */
  limits: ReadonlyMap<string, { limit: number; place: SourceLine }>;
  configs: { file: string; place: SourceLine }[];
  problems: DagProblem[];
}

export const parentsIn = ({ graph, byIndex }: Dag, { index }: DagNode): DagNode[] =>
  graph.parentsOf(index).flatMap((parent) => byIndex.get(parent) ?? []);
