import { posix } from 'node:path';
import type { SourceLine } from '@updraft/base';
import type { InlineDescription, NodeType, ScriptTime } from './dag-command.ts';
import type { DagGraph } from './graph.ts';
import type { DagSyntaxError } from './parse-dag.ts';

/** One DAGMan and the DAG file it reads: that of the main DAG, or of an inner one (`SUBDAG EXTERNAL`). */
export interface Dagman {
  /** Relative to the main DAG's folder. */
  file: string;
  /** Where it runs, relative to that folder. */
  folder: string;
  /** What the names of its nodes begin with: empty in the main DAG, `B/` in the inner DAG of the node B. */
  prefix: string;
  /** The node of the DAG around it; undefined for the main DAG. */
  node: DagNode | undefined;
}

/** A node with everything that commands of the DAG say of it. */
export interface DagNode {
  /** Its number in the graph. */
  index: number;
  /** As its DAGMan and the logs name it, as in `S+A` for a node of a splice, after the prefix of its DAGMan. */
  name: string;
  dagman: Dagman;
  type: NodeType;
  /** The submit file as written, or the file of the inner DAG; empty for an inline description. */
  submit: string;
  inline: InlineDescription | undefined;
  /** Where its submit file is read and its scripts run, relative to the DAG's folder. */
  folder: string;
  noop: boolean;
  done: boolean;
  /** One for each name; the last VARS command wins. */
  vars: DagVariable[];
  scripts: ReadonlyMap<ScriptTime, DagScript>;
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
  | 'endless'
  | 'script-replaced'
  | 'rejected'
  | 'too-big';

/** Something that DAGMan refuses or warns of while it reads a DAG. */
export interface DagProblem extends DagSyntaxError {
  kind: DagProblemKind;
}

/** A DAG as DAGMan reads it, with its splices, included files and inner DAGs. */
export interface Dag {
  file: string;
  /** The main DAG's, then those of the inner DAGs that are there, outer ones first. */
  dagmans: Dagman[];
  nodes: DagNode[];
  readonly byName: ReadonlyMap<string, DagNode>;
  byIndex: readonly (DagNode | undefined)[];
  graph: DagGraph;
  /** By prefix and name; nodes refer to them instead of a submit file. */
  descriptions: ReadonlyMap<string, InlineDescription>;
  /** Limits of categories. */
  limits: ReadonlyMap<string, { limit: number; place: SourceLine }>;
  configs: { file: string; place: SourceLine }[];
  problems: DagProblem[];
}

/** Its name in its own DAG and in the logs. */
export const ownName = ({ name, dagman }: DagNode): string => name.slice(dagman.prefix.length);

/** Its submit file, or the file of its inner DAG, relative to the DAG's folder. */
export const submitFile = ({ folder, submit }: DagNode): string =>
  posix.isAbsolute(submit) ? submit : posix.join(folder, submit);

/** The nodes it waits for; for the first nodes of an inner DAG that is the SUBDAG node. */
export const parentsIn = ({ graph, byIndex }: Dag, { index }: DagNode): DagNode[] =>
  graph.parentsOf(index).flatMap((parent) => byIndex[parent] ?? []);
