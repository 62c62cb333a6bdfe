import { ActionIcon, Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';
import { useRefusal } from '../session/rights.ts';
import type { Role } from '../session/roles.ts';

interface Props {
  /** Absent: who sees it may press it. */
  readonly needs?: Role;
  /** There is no operation for API keys. */
  readonly isForPeople?: boolean;
  /** Another reason why it cannot be pressed now; null when there is none. */
  readonly refusal?: string | null;
  /** A label on what it does, and to what, for those who do not see the icon. */
  readonly label: string;
  /** A hint on what it does, in a tooltip; its default is the label. */
  readonly hint?: string;
  readonly children: ReactNode;
  onClick(): void;
}

/** An icon that can be pressed, and says why not like `RoleButton`. */
export function RoleIcon({ needs, isForPeople, refusal = null, label, ...props }: Props) {
  const { hint = label, children, onClick } = props;
  const byRole = useRefusal(needs ?? 'read-only', isForPeople);
  const why = (needs === undefined ? null : byRole) ?? refusal;
  const isRefused = why !== null;
  return (
    <Tooltip
      label={why ?? hint}
      multiline
      maw={320}
      events={{ hover: true, focus: true, touch: true }}
    >
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={label}
        {...(isRefused && { 'aria-disabled': true, 'data-disabled': true })}
        onClick={() => {
          if (!isRefused) onClick();
        }}
      >
        {children}
      </ActionIcon>
    </Tooltip>
  );
}
