import { useClipboard } from '@mantine/hooks';
import { Check, Copy } from 'lucide-react';
import { messages } from '../messages/index.ts';
import { RoleIcon } from './RoleIcon.tsx';

interface Props {
  readonly label: string;
  /** Read when it is copied, for one that changes all the time. */
  readonly value: string | (() => string);
}

/** Copies a value; `label` says which. */
export function CopyIcon({ value, label }: Props) {
  const { copied, copy } = useClipboard();
  return (
    <RoleIcon
      label={label}
      hint={copied ? messages.copied : label}
      onClick={() => copy(typeof value === 'function' ? value() : value)}
    >
      {copied ? <Check size={16} /> : <Copy size={16} />}
    </RoleIcon>
  );
}
