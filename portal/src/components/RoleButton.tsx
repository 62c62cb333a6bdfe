import { Button, type ButtonProps, Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';
import { useRefusal } from '../session/rights.ts';
import type { Role } from '../session/roles.ts';

interface Props extends ButtonProps {
  readonly needs: Role;
  /** There is no operation for API keys. */
  readonly isForPeople?: boolean;
  /** Another reason why it cannot be pressed now; null when there is none. */
  readonly refusal?: string | null;
  readonly children: ReactNode;
  onClick(): void;
}

/** A button that says why it cannot be pressed: it stays reachable by keyboard, so that everybody can read the reason. */
export function RoleButton({ needs, isForPeople, refusal = null, ...props }: Props) {
  const { onClick, children, ...rest } = props;
  const why = useRefusal(needs, isForPeople) ?? refusal;
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
