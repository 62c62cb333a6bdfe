import { PasswordField } from '../../components/forms/PasswordField.tsx';
import { WriteDialog, type WriteDialogProps } from '../../components/forms/WriteDialog.tsx';
import { messages } from '../../messages/index.ts';

type Props<Values, Result> = Omit<WriteDialogProps<Values, Result>, 'refusal'> & {
  readonly initial: Values;
};

/** Asks for the account's password, because a session alone must not change how its owner signs in. */
export function PasswordDialog<Values extends { password: string }, Result>({
  children,
  ...dialog
}: Props<Values, Result>) {
  return (
    <WriteDialog {...dialog} refusal={({ password }: Values) => password === ''}>
      {(form, error) => (
        <>
          {typeof children === 'function' ? children(form, error) : <div>{children}</div>}
          <PasswordField
            data-autofocus
            label={messages.signIn.password}
            description={messages.link.ownPassword}
            autoComplete="current-password"
            {...form.getInputProps('password')}
          />
        </>
      )}
    </WriteDialog>
  );
}
