import { Button, type ButtonProps, Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';
import { useRefusal } from '../session/rights.ts';
import type { Role } from '../session/roles.ts';

export interface RoleButtonProps extends ButtonProps {
  /** Absent: who sees it may press it. */
  readonly needs?: Role;
  /** There is no operation for API keys. */
  readonly isForPeople?: boolean;
  /** Another reason why it cannot be pressed now; null when there is none. */
  readonly refusal?: string | null;
  readonly 'aria-label'?: string;
  readonly children: ReactNode;
  onClick(): void;
}

/** A button that says why it cannot be pressed: it stays reachable by keyboard, so that everybody can read the reason. */
export function RoleButton({ needs, isForPeople, refusal = null, ...props }: RoleButtonProps) {
  const { onClick, children, ...rest } = props;
  const byRole = useRefusal(needs ?? 'read-only', isForPeople);
  const why = (needs === undefined ? null : byRole) ?? refusal;
  if (why === null) {
    return (
      <Button {...rest} onClick={onClick}>
        {children}
      </Button>
    );
  }
  return (
    <Tooltip label={why} multiline maw={320} events={{ hover: true, focus: true, touch: true }}>
      <Button {...rest} data-disabled aria-disabled onClick={(event) => event.preventDefault()}>
        {children}
      </Button>
    </Tooltip>
  );
}
