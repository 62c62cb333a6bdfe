import { ChangeForm } from '../declared/KindForm.tsx';
import { HOLDING_ROW } from '../declared/kinds.ts';
import type { Organisation } from '../queries.ts';

interface Props {
  readonly holding: Organisation['holdings'][number];
  onClose(): void;
}

/** Changes what a prefix or address is held under and for how long, and its default verdict. */
export default function ChangeHolding({ holding, onClose }: Props) {
  return <ChangeForm row={HOLDING_ROW} object={{ ...holding }} onClose={onClose} />;
}
