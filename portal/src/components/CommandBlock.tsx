import { messages } from '../messages/index.ts';
import { CopyIcon } from './CopyIcon.tsx';

interface Props {
  /** One a line, as they are pasted into a shell. */
  readonly commands: readonly string[];
}

/** Commands for the host, to copy. */
export function CommandBlock({ commands }: Props) {
  if (commands.length === 0) return null;
  const all = commands.join('\n');
  return (
    <div className="commands">
      <code tabIndex={0}>{all}</code>
      <CopyIcon value={all} label={messages.copyCommand} />
    </div>
  );
}
