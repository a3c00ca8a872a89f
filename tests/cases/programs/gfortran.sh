# SPDX-License-Identifier: MIT
# gfortran compiles, and a Fortran program with allocatable arrays runs.
need gfortran
. "$SRC/tests/lib/program.sh"
same_as_plain sampled exact verify <<'END'
cat >a.f90 <<'F'
program a
  implicit none
  real(8), allocatable :: x(:,:), y(:,:)
  character(:), allocatable :: s
  type item
    integer, allocatable :: n(:)
  end type
  type(item), allocatable :: items(:)
  integer :: i, total
  allocate(x(101,101), y(101,101))
  x = 1.5d0
  y = matmul(x, x)
  print '(F12.3)', sum(y)
  allocate(items(23))
  total = 0
  do i = 1, 23
    allocate(items(i)%n(i * 101))
    items(i)%n = i
    total = total + sum(items(i)%n)
  end do
  print *, total
  s = ''
  do i = 1, 101
    s = s // achar(65 + mod(i, 26))
  end do
  print '(A)', s
  do i = 1, 5
    x = reshape([x, y], [101, 202])
    x = x(:, 1:101)
  end do
  print '(F12.3)', sum(x)
  stop 3
end program
F
gfortran -O2 -g a.f90 -o a
./a
echo "status $?"
END
