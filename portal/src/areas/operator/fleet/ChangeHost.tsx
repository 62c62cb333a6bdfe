import { ChangeForm } from '../declared/KindForm.tsx';
import { HOST_ROWS } from '../declared/kinds.ts';
import type { AgentKind } from './join.ts';

interface Props {
  readonly kind: AgentKind;
  readonly name: string;
  readonly owner: string;
  onClose(): void;
}

/** Changes what a host is declared to be. */
export default function ChangeHost({ kind, name, owner, onClose }: Props) {
  return <ChangeForm row={HOST_ROWS[kind]} object={{ name, owner }} onClose={onClose} />;
}
