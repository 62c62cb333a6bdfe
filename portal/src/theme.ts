import { createTheme, type MantineColorsTuple } from '@mantine/core';

/** The values of `--mantine-color-blue-*` in styles/theme.css, for what Mantine computes in code. */
const BLUE: MantineColorsTuple = [
  '#eef3ff',
  '#dbe5ff',
  '#b7c9ff',
  '#93adff',
  '#8aa6ff',
  '#4a70e8',
  '#2f56c9',
  '#2648ad',
  '#3358c4',
  '#1b3482',
];

/** Scroll locks insert a <style>, which the page's policy refuses. */
const unlocked = { defaultProps: { lockScroll: false } };
const small = { defaultProps: { size: 'sm' } };

export const theme = createTheme({
  colors: { blue: BLUE },
  primaryColor: 'blue',
  cursorType: 'pointer',
  defaultRadius: 6,
  respectReducedMotion: true,
  components: {
    Modal: unlocked,
    Button: small,
    TextInput: small,
    PasswordInput: small,
    NumberInput: small,
    Select: { defaultProps: { size: 'sm', allowDeselect: false, checkIconPosition: 'right' } },
    Textarea: small,
    SegmentedControl: small,
  },
});
