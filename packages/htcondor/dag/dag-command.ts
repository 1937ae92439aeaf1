import type { SourceLine } from '@updraft/base';

/** What a node is. FINAL runs last whatever happens, PROVISIONER first, SERVICE beside the others. */
export type NodeType = 'job' | 'subdag' | 'final' | 'provisioner' | 'service';

export type ScriptTime = 'PRE' | 'POST' | 'HOLD';

/** A submit description written into the DAG file; lines before it are blank, so that lines keep their numbers. */
export interface InlineDescription {
  text: string;
  place: SourceLine;
}

interface Commands {
  node: {
    type: NodeType;
    name: string;
    /** The submit file, the name of a SUBMIT-DESCRIPTION, or the file of the inner DAG. */
    submit: string;
    inline: InlineDescription | undefined;
    dir: string | undefined;
    noop: boolean;
    done: boolean;
  };
  splice: { name: string; file: string; dir: string | undefined };
  include: { file: string };
  description: { name: string; inline: InlineDescription };
  edges: { parents: string[]; children: string[] };
  script: { node: string; when: ScriptTime; command: string };
  vars: { node: string; append: boolean; pairs: [name: string, value: string][] };
  done: { node: string };
  /** RETRY, PRIORITY, CATEGORY, ABORT-DAG-ON, PRE_SKIP, TOLERANCE, SAVE_POINT_FILE: only their node is checked. */
  setting: { node: string; keyword: string };
  /** By pins, which are not read. */
  connect: object;
  config: { file: string };
  reject: object;
  /** Correct, and of no consequence here. */
  other: object;
}

export type DagCommand = {
  [Kind in keyof Commands]: { kind: Kind; place: SourceLine } & Commands[Kind];
}[keyof Commands];
