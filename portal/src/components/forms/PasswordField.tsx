import { PasswordInput, type PasswordInputProps } from '@mantine/core';
import { messages } from '../../messages/index.ts';

/** A password that can be shown while it is typed. */
export function PasswordField(props: PasswordInputProps) {
  return (
    <PasswordInput
      required
      visibilityToggleButtonProps={{ 'aria-label': messages.signIn.showPassword }}
      {...props}
    />
  );
}
